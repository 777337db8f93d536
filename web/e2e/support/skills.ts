import { expect, type Locator, type Page } from '@playwright/test'
import { plainSkill } from './chat'

/** The card of a skill. */
export function card(page: Page, name: string): Locator {
  return page.getByRole('main').getByRole('link', { name, exact: true })
}

/** The names of the skills in the list. */
export const cards = (page: Page): Locator => page.getByRole('main').getByRole('heading', { level: 3 })

/** Opens the skill list and waits until the skills are shown. */
export async function openSkills(page: Page): Promise<void> {
  await page.goto('/home/skill')
  await expect(card(page, plainSkill)).toBeVisible()
}
