import { describe, expect, it } from 'vitest'
import { decodeFrame } from './frames'

const thread = { id: 't', title: '', touched_at: '2026-03-01T00:00:00Z', skill: { id: 's' }, running: false }

describe('a live event frame', () => {
  it.each([
    { type: 'ready' },
    { type: 'thread', thread },
    { type: 'thread', id: 't', deleted: true },
    { type: 'message', message: { id: 'm', thread_id: 't', status: 'running' } },
    { type: 'notification', notification: { id: 'n', title: '題', published_at: '2026-03-01T00:00:00Z' } },
    { type: 'notification', read: ['n'] },
    { type: 'notification', id: 'n', ended: true },
    {
      type: 'data_source',
      data_source: { id: 'd', filename: '議事録.md', status: 'running', created_at: '2026-03-01T00:00:00Z' },
    },
    { type: 'data_source', id: 'd', deleted: true },
    { type: 'project', id: 'p', change: 'data_sources' },
  ])('is decoded unchanged: %o', (frame) => {
    expect(decodeFrame(JSON.stringify(frame))).toEqual(frame)
  })

  it.each([
    'null',
    '[]',
    '{"type":"thread"}',
    '{"type":"thread","id":"t"}',
    '{"type":"thread","thread":{"id":"t"}}',
    '{"type":"message","message":{"id":"m"}}',
    '{"type":"notification","read":[1]}',
    '{"type":"notification"}',
    '{"type":"notification","ended":true}',
    '{"type":"notification","notification":{"id":"n","title":"題"}}',
    '{"type":"data_source","data_source":{"id":"d"}}',
    '{"type":"data_source","id":"d"}',
    '{"type":"data_source","deleted":true}',
    '{"type":"project","change":"project"}',
    '{"type":"later","later":{"id":"x"}}',
    '{"type":"__proto__"}',
    '{"type":',
    '',
  ])('is ignored if invalid: %s', (data) => {
    expect(decodeFrame(data)).toBeNull()
  })

  it('must be text', () => {
    expect(decodeFrame(new ArrayBuffer(2))).toBeNull()
  })
})
