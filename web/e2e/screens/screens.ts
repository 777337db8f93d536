import type { Page, Route } from '@playwright/test'
import { Account } from '../support/account'
import { uploadFile } from '../support/files'
import { hold } from '../support/hold'
import { Idp } from '../support/idp'
import { pdfOf, print } from '../support/pdf'
import { searching } from '../support/search'
import { openSkills } from '../support/skills'
import { expect, test } from '../support/test'
import { authorization, chrome, connectExtension, createToken } from './connect'
import { conversation } from './conversation'
import * as sample from './sample'
import { at, heading, type Screen, shoot } from './shoot'

async function address(page: Page): Promise<void> {
  await page.goto('/login')
  await page.getByLabel('メールアドレス').fill('user@demo.example')
  await page.keyboard.press('Enter')
  await expect(page.getByLabel('パスワード', { exact: true })).toBeVisible()
}

/** Responds to a sign-in as the identity provider does for a temporary password. */
function challenge(route: Route): Promise<void> {
  const json = { ChallengeName: 'NEW_PASSWORD_REQUIRED', Session: 'session', ChallengeParameters: {} }
  return route.fulfill({ contentType: 'application/x-amz-json-1.1', json })
}

function broken(route: Route): Promise<void> {
  const request_id = '0198c1f2-7a30-7d51-b0a4-5d2f6c1e9a77'
  const json = {
    type: 'about:blank',
    title: 'Internal Server Error',
    status: 500,
    code: 'internal',
    request_id,
  }
  return route.fulfill({ status: 500, contentType: 'application/problem+json', json })
}

test.describe('signed out', () => {
  test.use({ who: null })
  const screens: Screen[] = [
    { name: 'landing', open: at('/', /ことばをつむぐ/) },
    { name: 'login', open: at('/login', 'ログイン') },
    {
      name: 'login-wrong-password',
      open: async (page) => {
        await address(page)
        await page.getByLabel('パスワード', { exact: true }).fill('Wrong-Password-1')
        await page.keyboard.press('Enter')
        await expect(page.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
      },
    },
    {
      name: 'new-password',
      open: async (page) => {
        await page.route('**/pool/**', challenge)
        await address(page)
        await page.getByLabel('パスワード', { exact: true }).fill('Temporary-1')
        await page.keyboard.press('Enter')
        await page.getByLabel('新しいパスワード').pressSequentially('Tsumugi')
      },
    },
    { name: 'signed-out', open: at('/logout/success', 'ログアウトしました') },
    { name: 'not-found', open: at('/nonsense', 'ページが見つかりません') },
    { name: 'forbidden', open: at('/forbidden', /権限がありません/) },
  ]
  for (const screen of screens) test(screen.name, ({ page }) => shoot(page, screen))
})

test('the first day', async ({ page, account }) => {
  await account.reset()
  await shoot(page, { name: 'first-day', open: openSkills })
  await shoot(page, {
    name: 'favorites-empty',
    only: 'wide',
    open: async () => {
      await openSkills(page)
      await page.getByRole('button', { name: 'お気に入り', exact: true }).click()
      await expect(page.getByText('お気に入り済みのスキルはありません。')).toBeVisible()
    },
  })
  await shoot(page, {
    name: 'error',
    open: async () => {
      await page.route('**/v1/me', broken)
      await page.goto('/home/skill')
      await heading(page, '問題が発生しました')
      await page.unroute('**/v1/me')
    },
  })
})

test.describe('at work', () => {
  test.use({ who: 'admin' })

  test('skills and threads', async ({ page, chat, account, model }) => {
    await account.reset()
    for (const [skill, title] of sample.threads) await account.newThread(skill, title)
    for (const name of sample.favorites) await account.setFavorite(name)
    await shoot(page, { name: 'skills', open: openSkills })
    await shoot(page, {
      name: 'skills-search',
      only: 'wide',
      open: async () => {
        await openSkills(page)
        await page.getByRole('textbox', { name: 'スキルを検索' }).fill('天気予報')
        await expect(page.getByText('一致するスキルはありません。')).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'threads',
      only: 'narrow',
      open: async () => {
        await openSkills(page)
        await page.getByRole('button', { name: 'チャット一覧を開く' }).click()
        await expect(page.getByRole('dialog').getByRole('link', { name: '定例会議の議事録' })).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'favorites',
      open: async () => {
        await openSkills(page)
        await page.getByRole('button', { name: 'お気に入り', exact: true }).click()
        await expect(page.getByRole('group', { name: 'お気に入り' }).getByRole('link')).toHaveCount(6)
      },
    })
    await shoot(page, {
      name: 'menu',
      open: async () => {
        await openSkills(page)
        await page.getByRole('button', { name: /さんのメニュー$/ }).click()
        await expect(page.getByRole('menuitem', { name: '管理者画面' })).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'palette',
      open: async () => {
        await openSkills(page)
        await page.getByRole('banner').getByRole('button', { name: '検索' }).click()
        await page.getByRole('combobox').fill('議事録')
        await expect(page.getByRole('option').first()).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'shortcuts',
      only: 'wide',
      open: async () => {
        await openSkills(page)
        await page.keyboard.press('?')
        await expect(page.getByRole('dialog', { name: 'キーボードショートカット' })).toBeVisible()
      },
    })
    await shoot(page, { name: 'password', open: at('/setting/change-password', 'パスワードの変更') })
    await shoot(page, { name: 'sessions', open: at('/setting/session', 'ログイン中の端末') })
    await shoot(page, { name: 'skill', open: () => chat.open() })
    await shoot(page, { name: 'skill-unavailable', only: 'wide', open: () => chat.open('ウェブ検索') })
    await shoot(page, { name: 'skill-form', open: () => chat.open('ビジネスメール作成') })
    await shoot(page, {
      name: 'skill-form-incomplete',
      only: 'wide',
      open: async () => {
        await chat.open('ビジネスメール作成')
        await page.getByLabel('宛先').fill('株式会社山川商事 営業部 佐藤様')
        await page.getByRole('button', { name: '実行' }).click()
        await expect(page.getByLabel('用件')).toBeFocused()
      },
    })
    await conversation(chat, model)
  })

  test('data sources', async ({ page, browser }) => {
    const open = at('/home/data-source', 'ファイル')
    const rows = page.getByRole('main').locator('tbody tr')
    const chooser = page.locator('input[type=file]')
    await shoot(page, { name: 'data-sources-empty', open })
    for (const [at, [name, content]] of sample.files.entries()) {
      await chooser.setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) })
      await expect(rows).toHaveCount(at + 1)
    }
    const buffer = await print(browser, sample.handbook, 'A4')
    await chooser.setInputFiles({ name: '旅費規程.pdf', mimeType: 'application/pdf', buffer })
    const count = sample.files.length + 1
    await expect(rows.filter({ hasText: /読み取り済み|読み取れませんでした/ })).toHaveCount(count)
    await shoot(page, {
      name: 'data-sources',
      open: async () => {
        await open(page)
        await expect(rows).toHaveCount(count)
      },
    })
    const search = async () => {
      await open(page)
      await page.getByRole('textbox', { name: '名前と内容を検索' }).fill('一泊につき')
      await expect(rows).toHaveCount(1)
    }
    await shoot(page, {
      name: 'data-sources-search',
      open: async () => {
        await search()
        await rows.getByRole('checkbox').check()
        await expect(page.getByRole('group', { name: '選択中のファイル' })).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'viewer',
      open: async () => {
        await search()
        await rows.getByRole('button', { name: /一泊につき/ }).click()
        await expect(page.locator('[data-mark]').first()).toBeInViewport()
      },
    })
    const held = await hold(page, /\/v1\/data-source\/file$/)
    await shoot(page, {
      name: 'data-sources-uploading',
      open: async () => {
        await open(page)
        await expect(rows).toHaveCount(count)
        const files = ['経費精算の手引き.md', '会議室の一覧.csv', '図面.dwg']
        const content = Buffer.from('控え')
        await chooser.setInputFiles(files.map((name) => ({ name, mimeType: 'text/plain', buffer: content })))
        await expect(page.getByRole('progressbar')).toHaveCount(2)
      },
    })
    await page.goto('/home/skill')
    held.release()
  })
})

test('documents', async ({ page, browser, server, account, model, chat }) => {
  await account.reset()
  await uploadFile(server.url, account, '旅費規程.md', '# 旅費規程\n\n第4条 日当は1日2,500円とする。\n')
  await uploadFile(server.url, account, '就業規則.pdf', await pdfOf(browser, sample.rules))
  model.script(sample.asked, { text: sample.cited, title: '年次有給休暇の日数' })
  const attach = async () => {
    await chat.open('文書に質問')
    await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
    for (const name of [/^就業規則\.pdf/, /^旅費規程\.md/]) {
      const file = page.getByRole('dialog').getByRole('button', { name })
      if ((await file.getAttribute('aria-pressed')) !== 'true') await file.click()
    }
    await page.keyboard.press('Escape')
    await chat.composer.fill(sample.asked)
  }
  await shoot(page, { name: 'chat-files', open: attach })
  await page.getByRole('button', { name: '「旅費規程.md」を外す' }).click()
  await chat.ask(sample.asked)
  await chat.finished()
  await shoot(page, {
    name: 'chat-cited',
    open: async (_, size) => {
      await chat.answer.scrollIntoViewIfNeeded()
      if (size === 'wide') await chat.answer.locator('[data-citation]').first().hover()
      if (size === 'wide') await expect(page.getByRole('tooltip')).toBeVisible()
    },
  })
})

test('proofreading', async ({ page, account, model, chat }) => {
  await account.reset()
  const title = '新サービスのご案内'
  model.script('お客様各位', { text: JSON.stringify({ changes: sample.draftChanges }), title })
  await chat.open('文章校正')
  await shoot(page, { name: 'skill-form-proofread', only: 'wide', open: () => chat.open('文章校正') })
  await page.getByRole('textbox', { name: '文章' }).fill(sample.draft)
  await page.getByLabel('校正の範囲').selectOption('読みやすさと敬語も整える')
  await page.getByLabel('文体').selectOption('元の文体のまま')
  await page.getByRole('button', { name: '実行' }).click()
  await chat.finished()
  const view = page.getByRole('region', { name: '校正の結果' })
  await view.getByRole('button', { name: '採用する' }).nth(1).click()
  await view.getByRole('button', { name: '採用しない' }).nth(2).click()
  await expect(view).toContainText('保存しました')
  const open = async () => {
    await page.reload()
    await expect(view).toContainText('採用 1・不採用 1')
  }
  await shoot(page, { name: 'proofread', open })
  await shoot(page, {
    name: 'proofread-joined',
    only: 'wide',
    open: async () => {
      await open()
      await view.getByRole('button', { name: 'まとめて表示' }).click()
      await view.locator('[data-mark]').nth(3).click()
    },
  })
  await shoot(page, {
    name: 'proofread-change',
    only: 'narrow',
    open: async () => {
      await open()
      await view.locator('[data-mark]').nth(3).click()
      await expect(page.getByRole('dialog')).toBeVisible()
    },
  })
})

searching('web search', async ({ page, account, model, chat }) => {
  await account.reset()
  const title = 'つむぎ県の最低賃金'
  model.script(sample.searched, { text: 'つむぎ県 最低賃金', title }, { text: sample.found })
  await chat.open('ウェブ検索')
  await chat.ask(sample.searched)
  await chat.finished()
  // The pages are on this machine; the screenshot shows sites.
  await page.route('**/v1/message?*', async (route) => {
    const response = await route.fetch()
    const sites = ['labor.example.jp', 'news.example.jp']
    const body = (await response.text()).replace(/"site":"127\.0\.0\.1"/g, () => `"site":"${sites.shift()}"`)
    await route.fulfill({ response, body })
  })
  await page.reload()
  await shoot(page, {
    name: 'chat-web',
    open: async (_, size) => {
      await chat.answer.scrollIntoViewIfNeeded()
      if (size === 'wide') await chat.answer.locator('[data-citation]').first().hover()
      if (size === 'wide') await expect(page.getByRole('tooltip')).toBeVisible()
    },
  })
})

test.describe('administration', () => {
  test.use({ who: 'admin' })

  test('contract, members, single sign-on and audit log', async ({ page, account }) => {
    const users = sample.people.map(([email, name, role]) => ({ email: `${email}@demo.example`, name, role }))
    await account.call('POST', '/v1/user/invite', { users })
    const idp = await Idp.start([])
    const idp_metadata_xml = await idp.metadata()
    await account.call('PUT', '/v1/saml-config', { idp_metadata_xml, name_attribute: 'displayName' })
    await idp.stop()

    await shoot(page, { name: 'admin-contract', open: at('/admin/contract', '契約') })
    const members = at('/admin/organization/member', 'メンバー')
    await shoot(page, { name: 'admin-members', open: members })
    await shoot(page, {
      name: 'admin-invite',
      open: async () => {
        await members(page)
        await page.getByRole('button', { name: 'メンバーを招待' }).click()
        await page.getByRole('button', { name: 'まとめて' }).click()
        await page.getByLabel('招待する人の一覧').fill(sample.invitees)
        await page.getByText('送信前の確認').scrollIntoViewIfNeeded()
      },
    })
    await shoot(page, { name: 'admin-saml', open: at('/admin/saml', /^シングルサインオン/) })
    await shoot(page, { name: 'admin-saml-edit', open: at('/admin/saml/edit', 'シングルサインオンの設定') })
    await shoot(page, { name: 'admin-audit', open: at('/admin/audit', '監査ログ') })
  })

  test('notices', async ({ page, account }) => {
    const day = (days: number | null) =>
      days === null ? undefined : new Date(Date.now() + days * 86_400_000).toISOString()
    for (const [title, body, level, from, to] of sample.notices) {
      await account.call('POST', '/v1/notification', {
        request_id: crypto.randomUUID(),
        ...{ title, body, level, audience: 'all', published_at: day(from), ends_at: day(to) },
      })
    }
    await shoot(page, { name: 'admin-notices', open: at('/admin/notice', 'お知らせ') })
    await shoot(page, {
      name: 'admin-notice-new',
      open: async () => {
        await at('/admin/notice/new', 'お知らせの作成')(page)
        await page.getByRole('textbox', { name: 'タイトル' }).fill('年末年始の休業日')
        await page.getByRole('textbox', { name: '本文' }).fill(sample.holidays)
        await page.getByRole('combobox', { name: '種類' }).selectOption('ご注意')
      },
    })
  })

  test('feedback', async ({ page, model, server, account }) => {
    const user = await Account.signIn(server.url, 'user')
    for (const [skill, question, answer, rating, comment, with_text] of sample.ratings) {
      const owner = with_text ? user : account
      model.script(question, { text: answer, title: question.replace(/[をは].*/, '') })
      const thread = await owner.newThread(skill)
      await owner.ask(thread.id, question)
      const message_id = (await owner.messages(thread.id)).at(-1)?.id
      await owner.call('POST', '/v1/message_feedback', { message_id, rating, comment, with_text })
    }
    const reviews = at('/admin/feedback', '回答の評価')
    await shoot(page, { name: 'admin-feedback', open: reviews })
    await shoot(page, {
      name: 'admin-feedback-text',
      open: async () => {
        await reviews(page)
        await page.getByRole('button', { name: /読む$/ }).first().click()
        await expect(page.getByRole('dialog').getByRole('table')).toBeVisible()
      },
    })
  })

  test('connections and the extension', async ({ page, server, account }) => {
    await connectExtension(server.url, account)
    const user = await Account.signIn(server.url, 'user')
    await connectExtension(server.url, user)
    await createToken(user, '月次の集計')
    const connections = at('/setting/connections', '連携アプリ')
    await shoot(page, { name: 'connections', open: connections })
    await shoot(page, { name: 'admin-connection', open: at('/admin/connection', '接続') })
    const create = async () => {
      await connections(page)
      await page.getByRole('button', { name: 'トークンを作成' }).click()
      await page.getByLabel('名前').fill('週次の集計')
    }
    await shoot(page, { name: 'token-create', open: create })
    await shoot(page, {
      name: 'token-created',
      open: async () => {
        await create()
        await page.getByRole('dialog').getByRole('button', { name: '作成する' }).click()
        await expect(page.locator('code')).toHaveText(/^tsk_/)
        await page.locator('code').evaluate((code) => {
          code.textContent = `tsk_${'0123456789abcdefghij'.repeat(2)}klm`
        })
      },
    })
    const extension = at('/admin/extension', 'ブラウザー拡張機能')
    await shoot(page, {
      name: 'admin-extension',
      open: async () => {
        await extension(page)
        await nameServer(page, server.url)
      },
    })
    await shoot(page, {
      name: 'admin-extension-steps',
      open: async () => {
        await extension(page)
        await nameServer(page, server.url)
        await page.getByRole('heading', { name: '1台ずつ手作業でインストールする' }).scrollIntoViewIfNeeded()
        const pictures = page.getByRole('main').locator('img')
        for (const picture of await pictures.all()) {
          await picture.scrollIntoViewIfNeeded()
          await expect(picture).toHaveJSProperty('complete', true)
        }
        await page
          .getByRole('heading', { name: '1台ずつ手作業でインストールする' })
          .evaluate((heading) => heading.scrollIntoView())
      },
    })
    const query = new URLSearchParams(await authorization(server.url))
    await shoot(page, {
      name: 'oauth-grant',
      open: async () => {
        await page.goto(`/oauth/grant?${query}`)
        await expect(page.getByRole('button', { name: '許可する' })).toBeVisible()
      },
    })
    await shoot(page, {
      name: 'oauth-device',
      open: async () => {
        const form = new URLSearchParams({ client_id: 'tsumugi-extension', scope: 'extension' })
        const init = { method: 'POST', body: form, headers: { 'User-Agent': chrome } }
        const answer = await fetch(`${server.url}/v1/oauth2/device`, init)
        const { user_code } = (await answer.json()) as { user_code: string }
        await page.goto(`/oauth/device?user_code=${user_code}`)
        await page.getByRole('button', { name: '次へ' }).click()
        await expect(page.getByRole('button', { name: '許可する' })).toBeVisible()
      },
    })
  })
})

/** Replaces the tests' address by a name for the server. */
async function nameServer(page: Page, server: string): Promise<void> {
  await page.getByRole('main').evaluate((main, server) => {
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    while (texts.nextNode()) {
      const text = texts.currentNode as Text
      text.data = text.data.replaceAll(server, 'https://tsumugi.example.jp')
    }
  }, server)
}
