import { useQuery } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextField } from '@/components/Field'
import { Loaded } from '@/components/States'
import { endpointOf } from '@/entities/identity/identity'
import { identityMessage } from '@/entities/identity/identityMessages'
import {
  createPasskey,
  deletePasskey,
  listPasskeys,
  MAX_PASSKEY_NAME,
  MAX_PASSKEYS,
  type Passkey,
} from '@/entities/identity/passkey'
import { passkeysSupported } from '@/entities/identity/passkeySupport'
import { freshToken } from '@/entities/session/session'
import { configQuery } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './FactorPage.module.css'
import { PasswordDialog } from './PasswordDialog'
import { Line } from './parts'
import { RenamePasskey } from './RenamePasskey'
import lines from './SessionsPage.module.css'
import { texts } from './texts'

const words = texts.passkeys

/** PasskeySection lists the user's passkeys, with buttons to add, rename and delete them, if the server supports them. */
export function PasskeySection({ email, onChange }: { email: string; onChange: () => void }) {
  const supported = useQuery(configQuery).data?.passkeys !== undefined
  const query = useQuery({
    queryKey: ['passkeys'],
    queryFn: async () => listPasskeys(await freshToken()),
    staleTime: 0,
    enabled: supported,
  })
  const [adding, setAdding] = useState(false)
  const [renaming, setRenaming] = useState<Passkey>()
  const [deleting, setDeleting] = useState<Passkey>()
  const name = useRef<HTMLInputElement>(null)
  const { busy, run } = useTask()
  const reload = () => {
    void query.refetch()
    onChange()
  }
  // The dialog closes first, because the browser opens its own.
  const add = async (password: string) => {
    const chosen = name.current?.value.trim() ?? ''
    setAdding(false)
    void run(
      async () => {
        const record = await freshToken()
        const holder = { AccessToken: record.accessToken, TsumugiPassword: password }
        await createPasskey(await endpointOf(record), holder, chosen)
        toast(words.added, { tone: 'success' })
        reload()
      },
      (cause) => toast(identityMessage(cause, 'passkey'), { tone: 'danger' }),
    )
  }
  const renamed = () => {
    setRenaming(undefined)
    toast(words.renamed, { tone: 'success' })
    void query.refetch()
  }
  const remove = async (password: string) => {
    if (!deleting) return
    await deletePasskey(await freshToken(), password, deleting.id)
    setDeleting(undefined)
    toast(words.deleted, { tone: 'success' })
    reload()
  }
  if (!supported) return null
  return (
    <section className={styles.section} aria-label={words.title}>
      <h2>{words.title}</h2>
      <p className={styles.lead}>{words.lead}</p>
      <Loaded query={query} loading={<p role="status">{texts.factor.loading}</p>}>
        {(passkeys) => (
          <>
            {passkeys.length === 0 && <p>{words.empty}</p>}
            {passkeys.length > 0 && (
              <ul className={lines.list} aria-label={words.title}>
                {passkeys.map((passkey) => (
                  <PasskeyLine
                    key={passkey.id}
                    passkey={passkey}
                    onRename={() => setRenaming(passkey)}
                    onDelete={() => setDeleting(passkey)}
                  />
                ))}
              </ul>
            )}
            {passkeysSupported() ? (
              <div className={styles.actions}>
                <Button
                  loading={busy}
                  disabled={passkeys.length >= MAX_PASSKEYS}
                  onClick={() => setAdding(true)}
                >
                  {words.add}
                </Button>
                {passkeys.length >= MAX_PASSKEYS && <p>{words.full}</p>}
              </div>
            ) : (
              <p>{words.unsupported}</p>
            )}
          </>
        )}
      </Loaded>
      {adding && (
        <PasswordDialog
          email={email}
          words={words.addDialog}
          onConfirmed={add}
          onClose={() => setAdding(false)}
        >
          <TextField
            ref={name}
            label={words.name}
            hint={words.nameHint}
            name="passkey-name"
            autoComplete="off"
            maxLength={MAX_PASSKEY_NAME}
            defaultValue={words.nameOf((query.data?.length ?? 0) + 1)}
          />
        </PasswordDialog>
      )}
      {renaming && (
        <RenamePasskey passkey={renaming} onRenamed={renamed} onClose={() => setRenaming(undefined)} />
      )}
      {deleting && (
        <PasswordDialog
          email={email}
          words={{ ...words.deleteDialog, title: words.deleteDialog.title(deleting.name) }}
          danger
          onConfirmed={remove}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </section>
  )
}

interface PasskeyLineProps {
  passkey: Passkey
  onRename: () => void
  onDelete: () => void
}

function PasskeyLine({ passkey, onRename, onDelete }: PasskeyLineProps) {
  const { name, createdAt, lastUsedAt } = passkey
  return (
    <Line
      icon={<KeyRound size={20} aria-hidden />}
      name={name}
      facts={[
        words.created(formatDate(createdAt)),
        lastUsedAt ? words.used(formatDate(lastUsedAt)) : words.unused,
      ]}
    >
      <div className={lines.buttons}>
        <Button size="sm" onClick={onRename}>
          <span className="visually-hidden">{texts.trusted.of(name)}</span>
          {words.rename}
        </Button>
        <Button size="sm" onClick={onDelete}>
          <span className="visually-hidden">{texts.sessions.of(name)}</span>
          {words.delete}
        </Button>
      </div>
    </Line>
  )
}
