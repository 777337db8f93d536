import type { NewMember, Role } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { inviting } from '../../texts'
import { type CsvLine, readCsv } from './csv'

const { errors } = inviting

/** The maximum number of people in one list. */
export const MOST_INVITEES = 1000
const MOST_NAME = 100
const MOST_EMAIL = 128

/** One parsed line of a list of people to invite. */
export interface Invitee {
  /** The line number, from 1. */
  readonly line: number
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Whether the list has no name, so that it is derived from the address. */
  readonly assumedName: boolean
  /** Why this person cannot be invited; undefined if possible. */
  readonly error: string | undefined
}

/** ListOptions controls the parsing of a list. */
interface ListOptions {
  /** The role of lines without one. */
  readonly role: Role
  /** Whether the reader may grant administrators' roles. */
  readonly mayGrant: boolean
  /** Whether a column of roles has no effect. */
  readonly ignoreRoles?: boolean
  /** Why the server refused people, by `personKey`. */
  readonly refused?: ReadonlyMap<string, string>
}

type Column = 'email' | 'name' | 'family' | 'given' | 'role' | 'userId' | 'userName' | null

const headers: ReadonlyArray<readonly [Exclude<Column, null>, RegExp]> = [
  ['email', /^(e-?mail(address)?|mail(address)?|(電子)?メール(アドレス)?|アドレス)$/],
  ['userId', /^ユーザーid$/],
  ['userName', /^ユーザー名$/],
  ['family', /^(姓|名字|苗字|lastname|familyname|surname)$/],
  ['given', /^(名|firstname|givenname)$/],
  ['name', /^((full|display|user)?name|氏名|名前|お名前|表示名|社員名|メンバー名)$/],
  ['role', /^(role|役割|権限|ロール|種別|区分)$/],
]

const roleWords: ReadonlyArray<readonly [Role, RegExp]> = [
  [
    'general-user',
    /^(general-?user|user|member|general|一般(ユーザー|利用者|メンバー)?|ユーザー|利用者|メンバー)$/,
  ],
  ['organization-admin', /^((organization-?)?admin(istrator)?|管理者|組織管理者|管理)$/],
  [
    'organization-super-admin',
    /^((organization-?)?super-?admin(istrator)?|特権(管理者)?|スーパー管理者|最上位の?管理者)$/,
  ],
]

/** Parses a list of people. Columns are recognized by their heading, or each cell by its content. */
export function readInvitees(text: string, options: ListOptions): Invitee[] {
  const lines = readCsv(text)
  const columns = lines[0] ? readHeading(lines[0]) : null
  const seen = new Map<string, number>()
  return lines.slice(columns ? 1 : 0).map((line, index) => {
    const { email, name, role, several } = columns ? byColumns(line, columns) : byLooks(line)
    const known = role === '' || options.ignoreRoles ? options.role : roleOf(role)
    const assumedName = name === '' && email !== ''
    const invitee = {
      line: line.line,
      email,
      name: assumedName ? (email.split('@')[0] ?? '') : name,
      role: known ?? options.role,
      assumedName,
    }
    const error =
      index >= MOST_INVITEES
        ? errors.tooMany(formatNumber(MOST_INVITEES))
        : several
          ? errors.several
          : known === null
            ? errors.badRole(role)
            : (problemOf(invitee, options.mayGrant, seen, line.line) ??
              options.refused?.get(personKey(invitee)))
    return { ...invitee, error }
  })
}

/** personKey identifies what was sent for a person. */
export function personKey({ email, name, role }: NewMember): string {
  return JSON.stringify([email, name, role])
}

/** withoutPeople returns a list without the lines of people, given by their addresses. */
export function withoutPeople(text: string, emails: readonly string[]): string {
  const gone = new Set(emails.map((email) => email.toLowerCase()))
  const people = new Map(
    readInvitees(text, { role: 'general-user', mayGrant: true }).map(({ line, email }) => [
      line,
      email.toLowerCase(),
    ]),
  )
  if ([...people.values()].every((email) => gone.has(email))) return ''
  let kept = true
  const lines = text.split(/\r\n|\r|\n/).filter((_, index) => {
    // A line without a person is the heading, empty, or belongs to the line before it.
    const email = people.get(index + 1)
    if (email !== undefined) kept = !gone.has(email)
    return kept
  })
  return lines.join('\n')
}

/**
 * problemOf returns why a person cannot be invited; undefined if possible. `seen` has the lines of the preceding
 * addresses.
 */
export function problemOf(
  { email, name, role }: NewMember,
  mayGrant: boolean,
  seen = new Map<string, number>(),
  line = 0,
): string | undefined {
  if (email === '') return errors.noEmail
  if (!isAddress(email)) return errors.badEmail
  if ([...name].length > MOST_NAME) return errors.longName
  if (/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(name)) return errors.badName
  if (role !== 'general-user' && !mayGrant) return errors.mayNot
  const first = seen.get(email.toLowerCase())
  if (first !== undefined) return errors.twice(first)
  seen.set(email.toLowerCase(), line)
  return undefined
}

/** roleOf returns the role for a word in a list; null for other words. */
export function roleOf(word: string): Role | null {
  const plain = plainly(word)
  return roleWords.find(([, pattern]) => pattern.test(plain))?.[0] ?? null
}

// The server validates; reject only text that cannot be an address.
function isAddress(email: string): boolean {
  return email.length <= MOST_EMAIL && /^[\x21-\x3f\x41-\x7e]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(email)
}

function readHeading({ cells }: CsvLine): Column[] | null {
  const columns = cells.map((cell): Column => {
    const plain = plainly(cell)
    return headers.find(([, pattern]) => pattern.test(plain))?.[0] ?? null
  })
  const has = (column: Column) => columns.includes(column)
  // Without a column of addresses, the user names are addresses.
  const user = has('email') ? null : 'email'
  const userName = has('email') && !has('name') && !has('family') ? 'name' : user
  const known = columns.map((column) =>
    column === 'userId' ? user : column === 'userName' ? userName : column,
  )
  return known.includes('email') && !cells.some((cell) => cell.includes('@')) ? known : null
}

interface Parts {
  email: string
  name: string
  role: string
  /** Whether there are several addresses, which would not all be invited. */
  several: boolean
}

function byColumns({ cells }: CsvLine, columns: readonly Column[]): Parts {
  const of = (column: Column) => cells[columns.indexOf(column)] ?? ''
  const name = of('name') || `${of('family')} ${of('given')}`
  return {
    email: addressOf(of('email')),
    name: tidy(name),
    role: tidy(of('role')),
    several: hasSeveral(of('email')),
  }
}

// Without a heading: a cell with an @ is the address, the name of a role is the role, and the rest is the name.
function byLooks({ cells }: CsvLine): Parts {
  const rest = cells.filter((cell) => cell !== '')
  const email = takeFrom(rest, (cell) => /[@＠]/.test(cell))
  const role = rest.length > 0 ? takeFrom(rest, (cell) => roleOf(cell) !== null) : ''
  const named = /^(.*?)[<＜](.+)[>＞]$/.exec(email)
  return {
    email: addressOf(named?.[2] ?? email),
    name: tidy(rest.join(' ') || named?.[1] || ''),
    role: tidy(role),
    several: hasSeveral(cells.join(' ')),
  }
}

function hasSeveral(text: string): boolean {
  const found = text.normalize('NFKC').match(/[\x21-\x3f\x41-\x7e]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+/gi)
  return found !== null && found.length > 1
}

function takeFrom(cells: string[], wanted: (cell: string) => boolean): string {
  const at = cells.findIndex(wanted)
  return at < 0 ? '' : (cells.splice(at, 1)[0] ?? '')
}

/** addressOf normalizes a typed address: it converts full-width characters to ASCII. */
function addressOf(text: string): string {
  return text
    .normalize('NFKC')
    .trim()
    .replace(/^<(.*)>$/, '$1')
    .replace(/^mailto:/i, '')
}

/** tidy returns a name with single ASCII spaces. */
export function tidy(text: string): string {
  return text
    .replace(/^["“”]+|["“”]+$/g, '')
    .replace(/[ \u00a0\u3000]+/g, ' ')
    .trim()
}

function plainly(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/[\s_]/g, '')
}
