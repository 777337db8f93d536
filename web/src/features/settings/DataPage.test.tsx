import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { DataPage } from './DataPage'

it('downloads the archive, and offers another attempt after a failure', async () => {
  const answers = [new Response(null, { status: 503 }), new Response('PK', { status: 200 })]
  const server = vi.fn<typeof fetch>(async () => answers.shift() ?? new Response(null, { status: 500 }))
  vi.stubGlobal('fetch', server)
  const saved: string[] = []
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download)
  })
  render(<DataPage />)
  const button = screen.getByRole('button', { name: '自分のデータを書き出す' })
  await userEvent.click(button)
  await vi.waitFor(() => expect(button.hasAttribute('aria-disabled')).toBe(false))
  expect(saved).toEqual([])
  await userEvent.click(button)
  await vi.waitFor(() => expect(saved).toEqual(['tsumugi-data.zip']))
  const request = new Request(server.mock.calls[0]?.[0] ?? '')
  expect([request.method, new URL(request.url).pathname]).toEqual(['GET', '/v1/me/export'])
})
