import { CopyButton } from './CopyButton'
import styles from './RecoveryCodes.module.css'

const texts = {
  title: '回復コード',
  once: 'スマートフォンを紛失したときなど、認証アプリやパスキーの代わりに使うコードです。一つのコードは1回だけ使えます。この画面を閉じると二度と表示できないため、今すぐ安全な場所に保管してください。',
  copy: 'コピー',
  download: 'ファイルに保存',
  filename: 'tsumugi-recovery-codes.txt',
} as const

/** RecoveryCodes shows new recovery codes, which cannot be read again. */
export function RecoveryCodes({ codes }: { codes: string[] }) {
  const text = `${codes.join('\n')}\n`
  return (
    <section className={styles.codes} aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <p>{texts.once}</p>
      <ul>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className={styles.actions}>
        <CopyButton copy={() => navigator.clipboard.writeText(text)}>{texts.copy}</CopyButton>
        <a href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`} download={texts.filename}>
          {texts.download}
        </a>
      </div>
    </section>
  )
}
