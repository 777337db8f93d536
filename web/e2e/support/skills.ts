import { expect, type Locator, type Page } from '@playwright/test'
import { plainSkill } from './chat'

/** The card of a skill in the list, not the short one among the recently used skills, which may precede it. */
export function card(page: Page, name: string): Locator {
  return page.getByRole('main').getByRole('link', { name, exact: true }).last()
}

/** Opens the skill list and waits until the skills are shown. */
export async function openSkills(page: Page): Promise<void> {
  await page.goto('/home/skill')
  await expect(card(page, plainSkill)).toBeVisible()
}
