import { QueryClientProvider } from '@tanstack/react-query'
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react'
import { Provider } from 'jotai'
import { MemoryRouter } from 'react-router'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { guidanceQuery } from '@/entities/guidance/guidance'
import { GENERAL_CHAT } from '@/entities/skill/generalChat'
import type { Guidance, Skill } from '@/lib/api'
import { queryClient, skillsQuery } from '@/lib/api/queries'
import { readStoredText } from '@/lib/browser/storedTexts'
import { setSendKey } from '@/lib/ui/sendKey'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import { thread } from '../conversation/testing'
import { begin, findConversation } from '../conversations'
import { draftAtom, draftKey, removeRestoredDraft, restoreDraft } from '../draft/drafts'
import { clearQueue, readQueue } from '../draft/queue'
import { Composer } from './Composer'
import { HomeComposer } from './HomeComposer'

const nothing: Guidance = {
  instructions: '',
  about: { name: '', department: '', tone: '', signature: '' },
  dictation: { service: false },
}

const skill = { id: 's', name: '汎用チャット' } as Skill

function show(options: { writing?: boolean; skill?: Skill; thread?: { id: string } } = {}) {
  const onAsk = vi.fn()
  const stop = vi.fn()
  const turns = options.writing ? [{ live: {}, successor: null, message: {} }] : []
  const conversation = { state: { thread: options.thread ?? null, turns }, stop } as unknown as Conversation
  render(
    <QueryClientProvider client={queryClient}>
      <Provider store={store}>
        <MemoryRouter>
          <Composer
            skill={options.skill ?? skill}
            conversation={conversation}
            writing={options.writing ?? false}
            stopping={false}
            onAsk={onAsk}
          />
        </MemoryRouter>
      </Provider>
    </QueryClientProvider>,
  )
  const field = screen.getByRole<HTMLTextAreaElement>('textbox', { name: '質問' })
  return {
    field,
    onAsk,
    stop,
    type: (value: string) => fireEvent.change(field, { target: { value } }),
  }
}

beforeEach(() => {
  localStorage.clear()
  setSendKey('enter')
  queryClient.setQueryData(guidanceQuery.queryKey, nothing)
  store.set(draftAtom(draftKey('s', undefined)), '')
})

describe('Composer', () => {
  it('shows what is sent with the question', () => {
    show()
    expect(screen.queryByRole('button', { name: /一緒に送ります/ })).toBeNull()
    cleanup()
    const about = { ...nothing.about, tone: '結論から', signature: '株式会社紡\n田中' }
    queryClient.setQueryData(guidanceQuery.queryKey, { ...nothing, instructions: '敬語で書く。', about })
    show()
    fireEvent.click(
      screen.getByRole('button', { name: '組織の指示と「回答のカスタマイズ」も一緒に送ります' }),
    )
    const dialog = screen.getByRole('dialog', { name: '質問と一緒に送る内容' })
    expect(dialog.textContent).toContain('敬語で書く。')
    expect(dialog.textContent).toContain('回答の文体：結論から\n署名：\n株式会社紡\n田中')
    expect(dialog.textContent).not.toContain('部署')
  })

  it('sends the trimmed text on Enter and is then empty', () => {
    const { field, onAsk, type } = show()
    type('  質問です\n')
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(onAsk).toHaveBeenCalledWith({ kind: 'text', content: '質問です' })
    expect(field.value).toBe('')
  })

  it.each([
    ['Shift+Enter', { key: 'Enter', shiftKey: true }],
    ['the Enter of a conversion', { key: 'Enter', isComposing: true }],
    ['the Enter after one in Safari', { key: 'Enter', keyCode: 229 }],
  ])('does not send on %s', (_, init) => {
    const { field, onAsk, type } = show()
    type('きょう')
    fireEvent.keyDown(field, init)
    expect(onAsk).not.toHaveBeenCalled()
  })

  it('sends nothing if it is empty', () => {
    const empty = show()
    empty.type(' \n ')
    fireEvent.keyDown(empty.field, { key: 'Enter' })
    expect(empty.onAsk).not.toHaveBeenCalled()
  })

  it('holds a question until the thread of the first answer is created, unless it leaves the screen', () => {
    const { field, onAsk, stop, type } = show({ writing: true })
    type('次の質問')
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(field.readOnly).toBe(true)
    expect(screen.getByText('回答が終わりしだい送信します')).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: '送信を取り消す' }))
    expect(field.readOnly).toBe(false)
    fireEvent.click(screen.getByRole('button', { name: '回答が終わりしだい送信' }))
    expect(field.readOnly).toBe(true)
    fireEvent.click(screen.getByRole('button', { name: '回答を停止' }))
    expect(stop).toHaveBeenCalledOnce()
    cleanup()
    const next = show()
    expect(next.field.value).toBe('次の質問')
    expect(next.field.readOnly).toBe(false)
    expect([onAsk.mock.calls, next.onAsk.mock.calls]).toEqual([[], []])
  })

  it('queues a question that is sent while an answer is running', () => {
    const { field, onAsk, type } = show({ writing: true, thread: { id: 't' } })
    expect(screen.queryByRole('button', { name: '回答が終わりしだい送信' })).toBeNull()
    type('次の質問')
    fireEvent.click(screen.getByRole('button', { name: '回答が終わりしだい送信' }))
    expect(readQueue('t')).toMatchObject([{ content: '次の質問' }])
    clearQueue('t')
    expect(onAsk).not.toHaveBeenCalled()
    expect(field.value).toBe('')
    expect(screen.getByRole('button', { name: '回答を停止' })).toBeTruthy()
  })

  it('keeps the focus after each button', () => {
    const { field, type } = show()
    type('質問です')
    const send = screen.getByRole('button', { name: '送信' })
    send.focus()
    fireEvent.click(send)
    expect(document.activeElement).toBe(field)
    cleanup()
    const busy = show({ writing: true })
    const stop = screen.getByRole('button', { name: '回答を停止' })
    stop.focus()
    fireEvent.click(stop)
    expect(document.activeElement).toBe(busy.field)
  })

  it.each([
    [{}, '質問や依頼を入力'],
    [{ task_type: 'summarization' }, '要約する文章を入力'],
    [{ task_type: 'document_qa' }, 'ファイルへの質問を入力'],
    [{ kind: 'web_search' }, '調べたいことを入力'],
  ])('has the placeholder for a skill with %o', (change, words) => {
    const { field } = show({ skill: { ...skill, ...change } as Skill })
    expect(field.placeholder).toBe(words)
  })

  it('counts characters, not code units, near the limit', () => {
    const { type } = show()
    type('𠮷'.repeat(31_990))
    expect(screen.getByText('残り10文字')).toBeTruthy()
    type('𠮷'.repeat(32_001))
    expect(screen.getByText(/上限を1文字超えています。32,000文字以内にしてください。/)).toBeTruthy()
    expect(screen.getByRole<HTMLButtonElement>('button', { name: '送信' }).disabled).toBe(true)
  })

  it('shows why the skill is unavailable', () => {
    render(
      <Composer
        skill={{ ...skill, unavailable_reason: '検索が設定されていません。' }}
        conversation={{ state: { thread: null, turns: [] } } as unknown as Conversation}
        onAsk={vi.fn()}
      />,
    )
    expect(screen.getByText('検索が設定されていません。')).toBeTruthy()
    expect(screen.queryByRole('textbox')).toBeNull()
  })

  it('stores the text for the next visit and deletes it after sending', () => {
    const { field, type } = show()
    type('下書き')
    expect(readStoredText('draft:skill:s')).toBe('下書き')
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(readStoredText('draft:skill:s')).toBe('')
  })

  it('sends on Ctrl+Enter only, if so configured, and shows that', () => {
    act(() => setSendKey('mod-enter'))
    const { field, onAsk, type } = show()
    const send = screen.getByRole('button', { name: '送信' })
    expect(send.dataset['tipKeys']).toBe('Ctrl + Enter（改行は Enter）')
    expect(field.getAttribute('enterkeyhint')).toBe('enter')
    type('質問です')
    fireEvent.keyDown(field, { key: 'Enter' })
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true, isComposing: true })
    expect(onAsk).not.toHaveBeenCalled()
    fireEvent.keyDown(field, { key: 'Enter', ctrlKey: true })
    expect(onAsk).toHaveBeenCalledOnce()
  })

  it('inserts a line break on Enter on a touch screen, unless configured otherwise', () => {
    localStorage.clear()
    window.dispatchEvent(new StorageEvent('storage', { key: null }))
    vi.spyOn(window, 'matchMedia').mockImplementation(
      (query) =>
        ({ matches: query.includes('coarse'), addEventListener() {}, removeEventListener() {} }) as never,
    )
    const { field, onAsk, type } = show()
    type('質問です')
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(onAsk).not.toHaveBeenCalled()
    act(() => setSendKey('enter'))
    fireEvent.keyDown(field, { key: 'Enter' })
    expect(onAsk).toHaveBeenCalledOnce()
  })
})

describe('HomeComposer', () => {
  const id = 'home'
  let create: (response: Response) => void

  /** Shows the home page and asks the first question, whose thread is not created yet. */
  function askFirst() {
    queryClient.setQueryData(skillsQuery.queryKey, [{ ...skill, id: GENERAL_CHAT, suggestions: [] }])
    vi.stubGlobal(
      'fetch',
      (request: Request) =>
        new Promise<Response>((resolve) => {
          if (request.url.endsWith('/v1/thread')) create = resolve
        }),
    )
    render(
      <QueryClientProvider client={queryClient}>
        <Provider store={store}>
          <MemoryRouter>
            <HomeComposer />
          </MemoryRouter>
        </Provider>
      </QueryClientProvider>,
    )
    const field = screen.getByRole<HTMLTextAreaElement>('textbox', { name: '質問' })
    const ask = (value: string) => {
      fireEvent.change(field, { target: { value } })
      fireEvent.keyDown(field, { key: 'Enter' })
    }
    ask('最初の質問')
    return { field, ask }
  }
  const created = () => create(Response.json({ ...thread, id }))
  const requested = () => vi.waitFor(() => expect(create).toBeDefined())

  beforeEach(() => {
    create = undefined as never
  })
  afterEach(() => {
    clearQueue(id)
    begin(GENERAL_CHAT)
    for (const threadId of [undefined, id]) store.set(draftAtom(draftKey(GENERAL_CHAT, threadId)), '')
  })

  it('queues a question that is sent while the page of the first one loads', async () => {
    const { field } = askFirst()
    await requested()
    created()
    // Types as soon as the thread exists, before the composer is rendered for it.
    for (let i = 0; i < 10_000 && !findConversation(id); i++) await Promise.resolve()
    fireEvent.change(field, { target: { value: '次の質問' } })
    await vi.waitFor(() => expect(field.dataset['composer']).toBe(draftKey(GENERAL_CHAT, id)))
    expect(field.value).toBe('次の質問')
    fireEvent.keyDown(field, { key: 'Enter' })
    await vi.waitFor(() => expect(field.value).toBe(''))
    expect(readQueue(id)).toMatchObject([{ content: '次の質問' }])
  })

  it('queues a question that is sent while the thread of the first one is created', async () => {
    const { field, ask } = askFirst()
    await requested()
    ask('次の質問')
    expect(field.readOnly).toBe(true)
    created()
    await vi.waitFor(() => expect(readQueue(id)).toMatchObject([{ content: '次の質問' }]))
    await vi.waitFor(() => expect(field.value).toBe(''))
    expect(field.readOnly).toBe(false)
  })

  it('returns both questions to the field if the thread cannot be created', async () => {
    const { field, ask } = askFirst()
    await requested()
    ask('次の質問')
    const first = create
    first(Response.json({ detail: '作成できません。' }, { status: 400 }))
    await vi.waitFor(() => expect(field.value).toBe('最初の質問\n\n次の質問'))
    await vi.waitFor(() => expect(field.readOnly).toBe(false))
    expect(create, 'no other thread is requested').toBe(first)
  })
})

describe('drafts', () => {
  it('restore a text before newer text, and withdraw only unchanged text', () => {
    const draft = draftAtom('thread:t')
    restoreDraft('thread:t', '次の質問')
    restoreDraft('thread:t', '送れなかった質問')
    expect(store.get(draft)).toBe('送れなかった質問\n\n次の質問')
    removeRestoredDraft('thread:t', '送れなかった')
    expect(store.get(draft)).toBe('送れなかった質問\n\n次の質問')
    removeRestoredDraft('thread:t', '送れなかった質問')
    expect(store.get(draft)).toBe('次の質問')
    removeRestoredDraft('thread:t', '次の質問')
    expect(store.get(draft)).toBe('')
  })

  it('follow another tab, except while the user types in this one', () => {
    const { field, type } = show()
    const elsewhere = (value: string) =>
      act(() => {
        const newValue = JSON.stringify({ at: 1, value })
        window.dispatchEvent(new StorageEvent('storage', { key: 'tsumugiKept::draft:skill:s', newValue }))
      })
    vi.spyOn(document, 'hasFocus').mockReturnValue(true)
    type('ここで入力中')
    field.focus()
    elsewhere('別のタブから')
    expect(field.value).toBe('ここで入力中')
    field.blur()
    elsewhere('別のタブから')
    expect(field.value).toBe('別のタブから')
  })
})
