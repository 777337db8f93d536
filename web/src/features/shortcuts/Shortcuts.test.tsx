import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { Provider } from 'jotai'
import { MemoryRouter, useLocation } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { findThread, threadsQuery } from '@/entities/thread/threads'
import type { Me, Skill, Thread } from '@/lib/api'
import { meQuery, queryClient, skillsQuery } from '@/lib/api/queries'
import { fillList } from '@/lib/api/testing'
import { paletteOpenAtom, shortcutsOpenAtom } from '@/lib/ui/overlays'
import { sidebarFoldedAtom } from '@/lib/ui/sidebar'
import { store } from '@/lib/ui/store'
import { Shortcuts } from './Shortcuts'

function Place() {
  return <output>{useLocation().pathname}</output>
}

describe('the shortcuts', () => {
  beforeEach(() => {
    store.set(paletteOpenAtom, false)
    store.set(shortcutsOpenAtom, false)
    queryClient.setQueryData(meQuery.queryKey, { role: 'general-user' } as Me)
    queryClient.setQueryData(skillsQuery.queryKey, [
      {
        id: 's1',
        name: '要約',
        description: '短くまとめます',
        icon_path: '/i.svg',
        keywords: ['サマリー'],
      } as Skill,
    ])
    fillList(threadsQuery, [
      {
        id: 't1',
        title: '四半期レポート',
        skill: { id: 's1', name: '要約', icon_path: '/i.svg' },
        touched_at: '2026-03-01T00:00:00Z',
      } as Thread,
    ])
  })

  const show = (path: string) =>
    render(
      <Provider store={store}>
        <QueryClientProvider client={queryClient}>
          <MemoryRouter initialEntries={[path]}>
            <Shortcuts />
            <input aria-label="欄" />
            <textarea data-composer aria-label="入力欄" />
            <Place />
          </MemoryRouter>
        </QueryClientProvider>
      </Provider>,
    )
  const place = () => document.querySelector('output')?.textContent

  it('find threads by Ctrl K, and open one at the match by Enter', async () => {
    const match = { message_id: 'm1', snippet: '四半期のレポートです', ranges: [[4, 8]] }
    const found = { ...findThread('t1'), match }
    const asked: string[] = []
    vi.stubGlobal('fetch', async (request: Request) => {
      asked.push(new URL(request.url).searchParams.get('q') ?? '')
      return Response.json({ items: [found] })
    })
    show('/home/skill')
    fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true })
    const field = await screen.findByRole('combobox')
    fireEvent.change(field, { target: { value: 'ﾚﾎﾟｰﾄ' } })
    const option = await screen.findByRole('option')
    expect(option.textContent).toMatch(/^四半期レポート四半期のレポートです/)
    expect(option.querySelector('mark')?.textContent).toBe('レポート')
    expect(asked).toEqual(['ﾚﾎﾟｰﾄ'])
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 })
    expect(place()).toBe('/home/skill')
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 13 })
    expect(place()).toBe('/home/skill/s1/chat/t1')
    expect(screen.queryByRole('combobox')).toBeNull()
  })

  it('choose with the arrows', async () => {
    show('/home/skill')
    fireEvent.keyDown(document.body, { key: 'k', metaKey: true })
    const field = await screen.findByRole('combobox')
    fireEvent.keyDown(field, { key: 'ArrowDown' })
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 13 })
    expect(place()).toBe('/home/skill/s1')
  })

  it('start a new thread with the current skill', () => {
    const skill = '/home/skill/01a1fbed-16d4-7674-9621-a2bbc8a4cc61'
    show(`${skill}/chat/t1`)
    fireEvent.keyDown(document.body, { key: 'O', ctrlKey: true, shiftKey: true })
    expect(place()).toBe(skill)
  })

  it('start a new thread at home from a page without a skill', () => {
    show('/home/skill/library')
    fireEvent.keyDown(document.body, { key: 'O', ctrlKey: true, shiftKey: true })
    expect(place()).toBe('/home/skill')
  })

  it('focus the composer by /, but not while the user types in a field', () => {
    show('/home/skill/s1')
    fireEvent.keyDown(screen.getByLabelText('欄'), { key: '/' })
    expect(document.activeElement).not.toBe(screen.getByLabelText('入力欄'))
    fireEvent.keyDown(document.body, { key: '/' })
    expect(document.activeElement).toBe(screen.getByLabelText('入力欄'))
  })

  it('show their list by ?', async () => {
    show('/home/skill')
    fireEvent.keyDown(screen.getByLabelText('欄'), { key: '?' })
    expect(store.get(shortcutsOpenAtom)).toBe(false)
    fireEvent.keyDown(document.body, { key: '?' })
    expect(await screen.findByRole('dialog', { name: 'キーボードショートカット' })).toBeTruthy()
    act(() => store.set(shortcutsOpenAtom, false))
  })

  it('fold and unfold the thread list by Ctrl B, also while the user types in a field, and store the state', () => {
    show('/home/skill')
    const press = () => fireEvent.keyDown(screen.getByLabelText('入力欄'), { key: 'b', ctrlKey: true })
    press()
    expect([store.get(sidebarFoldedAtom), localStorage.getItem('tsumugiSidebar')]).toEqual([true, 'folded'])
    press()
    expect([store.get(sidebarFoldedAtom), localStorage.getItem('tsumugiSidebar')]).toEqual([false, null])
  })

  it('find a skill by a word that is not shown', async () => {
    show('/home/skill')
    fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true })
    fireEvent.change(await screen.findByRole('combobox'), { target: { value: 'サマリー' } })
    expect((await screen.findByRole('option')).textContent).toBe('要約')
  })

  it('ignore the keys of an input method', () => {
    show('/home/skill')
    fireEvent.keyDown(document.body, { key: 'k', ctrlKey: true, isComposing: true })
    expect(store.get(paletteOpenAtom)).toBe(false)
  })
})
