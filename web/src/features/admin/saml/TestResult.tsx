import { useQuery } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { Loaded } from '@/components/States'
import type { SamlTest } from '@/lib/api'
import { LinesLoading } from '../parts/Loading'
import { Fact, Facts, Notice } from '../parts/Page'
import { Table } from '../parts/Table'
import table from '../parts/Table.module.css'
import { samlTestQuery } from '../queries'
import { saml } from '../texts'
import styles from './Saml.module.css'
import { useSignInTest } from './SamlStatus'

const words = saml.result

/**
 * The result of a test: whether the sign-in would have succeeded, its user, and the data from the identity provider.
 */
export function TestResult({ id, mayTest }: { id: string; mayTest: boolean }) {
  const query = useQuery(samlTestQuery(id))
  const { busy, start } = useSignInTest()
  const navigate = useNavigate()
  return (
    <section className={styles.result} aria-label={words.title}>
      <h2>{words.title}</h2>
      <Loaded query={query} loading={<LinesLoading lines={3} />}>
        {(test) => (
          <>
            <Verdict test={test} />
            {test.status !== 'pending' && <Received test={test} />}
          </>
        )}
      </Loaded>
      <div className={styles.resultActions}>
        {mayTest && (
          <Button size="sm" loading={busy} onClick={start}>
            {words.again}
          </Button>
        )}
        <Button size="sm" variant="quiet" onClick={() => void navigate('/admin/saml', { replace: true })}>
          {words.close}
        </Button>
      </div>
    </section>
  )
}

function Verdict({ test }: { test: SamlTest }) {
  if (test.status === 'pending') return <Notice level="info">{words.pending}</Notice>
  if (test.status === 'failed') {
    return (
      <Notice level="danger" role="alert">
        <strong>{words.failed}</strong>
        {test.error && <p>{test.error}</p>}
      </Notice>
    )
  }
  return (
    <Notice level="success" role="status">
      <strong>{words.success}</strong>
      <p>{words.outcome(test.name || test.email || '', test.email ?? '')}</p>
      <p className={styles.quiet}>
        {words.outcomeNew}
        {words.notSignedIn}
      </p>
    </Notice>
  )
}

function Received({ test }: { test: SamlTest }) {
  const { attributes = [], name_id, email, name } = test
  return (
    <>
      <Facts>
        {name_id && (
          <Fact name={words.nameId}>
            <code className={styles.code}>{name_id}</code>
          </Fact>
        )}
        {email && <Fact name={words.email}>{email}</Fact>}
        {name && <Fact name={words.name}>{name}</Fact>}
      </Facts>
      {(attributes.length > 0 || test.status === 'success') && <h3>{words.attributes}</h3>}
      {attributes.length === 0 && test.status === 'success' && <p className={styles.quiet}>{words.none}</p>}
      {attributes.length > 0 && (
        <div className={table.box}>
          <Table columns={[words.attribute, words.value]}>
            {attributes.map((item) => (
              <tr key={item.name}>
                <th scope="row">
                  <code className={styles.code}>{item.name}</code>
                </th>
                <td>{item.values.join('、')}</td>
              </tr>
            ))}
          </Table>
        </div>
      )}
    </>
  )
}
