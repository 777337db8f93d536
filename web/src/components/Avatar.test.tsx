import { render } from '@testing-library/react'
import { expect, it } from 'vitest'
import { Avatar } from './Avatar'

it.each([
  ['鈴木 花子', '鈴'],
  ['hanako', 'H'],
  ['  𠮷田', '𠮷'],
  ['か\u3099っこう', 'か\u3099'],
  ['葛\u{e0100}城', '葛\u{e0100}'],
  ['👩🏽‍💻 開発', '👩🏽‍💻'],
  ['👨‍👩‍👧', '👨‍👩‍👧'],
  ['❤️さくら', '❤️'],
  ['🇯🇵🇫🇷', '🇯🇵'],
  ['', ''],
])('shows the first character of %s as a user sees it', (name, first) => {
  const { container } = render(<Avatar name={name} />)
  expect(container.textContent).toBe(first)
})
