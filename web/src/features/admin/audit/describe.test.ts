import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '@/lib/api'
import { startOfDay } from '../format'
import { actionOf, actorOf, changesOf, targetOf } from './describe'

const event = (change: Partial<AuditEvent>): AuditEvent => ({
  id: 'e',
  at: '2026-11-21T00:00:00Z',
  actor_kind: 'user',
  action: 'member.edit',
  target_kind: 'user',
  target_label: 'hanako@example.co.jp',
  details: [],
  times: 1,
  ...change,
})

describe('an entry of the audit log', () => {
  it('describes a change in words', () => {
    const details = [
      { field: 'role', before: 'general-user', after: 'organization-admin' },
      { field: 'state', before: 'active', after: 'inactive' },
      { field: 'name', before: '鈴木', after: '佐藤' },
    ]
    expect(changesOf(event({ details }))).toEqual([
      '役割：一般ユーザー → 管理者',
      '状態：利用中 → 停止中',
      '名前：鈴木 → 佐藤',
    ])
  })

  it('names each field that the server records', () => {
    const details = [
      { field: 'default_id', before: '標準', after: '高精度' },
      { field: 'personal_tokens', before: 'on', after: 'off' },
    ]
    expect(changesOf(event({ action: 'connection_policy.edit', details }))).toEqual([
      '既定のモデル：標準 → 高精度',
      '個人用アクセストークン：許可 → 禁止',
    ])
  })

  it('names the outcome of a call and the decision about it', () => {
    const details = [
      { field: 'outcome', after: 'denied' },
      { field: 'decision', after: 'denied' },
    ]
    expect(changesOf(event({ action: 'tool.call', details }))).toEqual(['使用の結果：拒否', '承認：拒否'])
  })

  it('names the skills of an import', () => {
    const details = [
      { field: 'skill_added', after: '訪問の報告' },
      { field: 'skill_retired', after: '議事録' },
    ]
    expect(changesOf(event({ action: 'skill.import', details }))).toEqual([
      '追加したスキル：訪問の報告',
      '廃止したスキル：議事録',
    ])
  })

  it('describes the terms of a contract', () => {
    const details = [
      { field: 'tokens', before: '10000000', after: '20000000' },
      { field: 'ends_on', after: '2027-03-31' },
    ]
    expect(changesOf(event({ action: 'contract.set', details }))).toEqual([
      '月間トークン：10,000,000 → 20,000,000',
      '契約終了日：なし → 2027年3月31日',
    ])
  })

  it('has one value for a creation or removal', () => {
    const invited = [{ field: 'role', after: 'general-user' }]
    expect(changesOf(event({ action: 'member.invite', details: invited }))).toEqual(['役割：一般ユーザー'])
    const removed = [{ field: 'name', before: '鈴木' }]
    expect(changesOf(event({ action: 'member.remove', details: removed }))).toEqual(['名前：鈴木'])
  })

  it('shows unknown values unchanged', () => {
    expect(actionOf('new.thing')).toBe('new.thing')
    expect(changesOf(event({ details: [{ field: 'colour', before: 'a', after: 'b' }] }))).toEqual([
      'colour：a → b',
    ])
  })

  it('names the actor', () => {
    const actor = { actor_name: '管理 花子', actor_email: 'admin@example.co.jp' }
    expect(actorOf(event(actor))).toEqual({ name: '管理 花子', account: 'admin@example.co.jp' })
    expect(actorOf(event({ actor_kind: 'operator', actor_name: 'root' }))).toEqual({
      name: '運用担当者',
      account: 'root',
    })
    expect(actorOf(event({ actor_kind: 'provisioning', actor_name: 'Okta' })).name).toBe(
      'IDプロバイダー（Okta）',
    )
    expect(actorOf(event({ actor_kind: 'system' })).name).toBe('システム')
    expect(actorOf(event({ actor_kind: 'unknown' })).name).toBe('未認証の操作者')
  })

  it('describes how and how often a sign-in failed', () => {
    const failed = event({
      action: 'session.fail',
      actor_kind: 'unknown',
      details: [{ field: 'reason', after: 'password' }],
      times: 5,
      last_at: '2026-11-21T00:12:00Z',
    })
    expect(actionOf(failed.action)).toBe('ログインの失敗')
    expect(changesOf(failed)).toEqual([
      '理由：パスワードが正しくない',
      expect.stringMatching(/^1時間に5回（最後は.+）$/),
    ])
    expect(targetOf(failed)).toBe('hanako@example.co.jp')
    expect(targetOf({ ...failed, target_label: '' })).toBe('登録のないアドレス')
  })
})

describe('the period', () => {
  it('begins and ends at midnight in the reader’s time zone', () => {
    expect(startOfDay('2026-11-21')).toBe(new Date(2026, 10, 21).toISOString())
    expect(startOfDay('2026-11-30', 1)).toBe(new Date(2026, 11, 1).toISOString())
    expect(startOfDay('yesterday')).toBeUndefined()
  })
})
