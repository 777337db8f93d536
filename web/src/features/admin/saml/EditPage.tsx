import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode, RefObject } from 'react'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { BoxesLoading } from '../parts/Loading'
import { BackLink, Page } from '../parts/Page'
import { common } from '../texts'
import styles from './Saml.module.css'

interface EditPageProps<Config> {
  query: UseQueryResult<Config>
  words: { readonly title: string; readonly back: string }
  /** The page with the settings. */
  settings: string
  children: (config: Config) => ReactNode
}

/** The page that edits the settings of a protocol for single sign-on. */
export function EditPage<Config>({ query, words, settings, children }: EditPageProps<Config>) {
  return (
    <Page title={words.title} actions={<BackLink to={settings}>{words.back}</BackLink>}>
      <Loaded query={query} loading={<BoxesLoading heights={[300, 160]} />}>
        {children}
      </Loaded>
    </Page>
  )
}

interface FormEndProps {
  /** The error of no particular field. */
  error: string
  busy: boolean
  dirty: boolean
  saved: RefObject<boolean>
  words: { readonly save: string }
  settings: string
}

/** The end of the form: its error, and the buttons. It asks before unsaved changes are left. */
export function FormEnd({ error, busy, dirty, saved, words, settings }: FormEndProps) {
  return (
    <>
      <div role="alert">{error !== '' && <FieldErrorText>{error}</FieldErrorText>}</div>
      <div className={styles.formActions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {words.save}
        </Button>
        <ButtonLink to={settings} variant="quiet" size="lg">
          {common.cancel}
        </ButtonLink>
      </div>
      <UnsavedGuard dirty={dirty} released={saved} />
    </>
  )
}
