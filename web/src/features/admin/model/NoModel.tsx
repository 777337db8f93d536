import { Notice } from '../parts/Page'
import { models } from '../texts'
import styles from './ModelsPage.module.css'

const words = models.none

/** Reports a missing model, with the steps to connect one. */
export function NoModel() {
  return (
    <div className={styles.form}>
      <Notice level="warning">
        <h2 className={styles.name}>{words.title}</h2>
        <p>{words.lead}</p>
      </Notice>
      <ol className={styles.steps}>
        <li>
          {words.key}
          <Settings lines={['OPENAI_API_KEY=…', 'OPENAI_MODEL=…']} />
          {words.other}
          <Settings lines={['OPENAI_BASE_URL=https://…/v1']} />
        </li>
        <li>{words.restart}</li>
      </ol>
      <p>{words.several}</p>
    </div>
  )
}

function Settings({ lines }: { lines: readonly string[] }) {
  return (
    <pre className={styles.settings}>
      <code>{lines.join('\n')}</code>
    </pre>
  )
}
