import { useQuery } from '@tanstack/react-query'
import { Hash } from 'lucide-react'
import { CopyIconButton } from '@/components/CopyButton'
import { EndButton } from '@/components/EndDialog'
import { Loaded } from '@/components/States'
import { refreshProjects } from '@/entities/project/projects'
import { call, type ProjectChannel } from '@/lib/api'
import { copyText } from '@/lib/browser/clipboard'
import { formatDate } from '@/lib/ui/dates'
import { useListFocus } from '@/lib/ui/listFocus'
import styles from '../Project.module.css'
import { Section } from '../parts'
import { useProject } from '../project'
import { channelsQuery, slackQuery } from '../queries'
import { texts } from '../texts'
import own from './Channels.module.css'

const words = texts.channels

/**
 * Channels lists the channels of Slack that are bound to the project, and shows how to bind another one. Organizations
 * without Slack do not see it.
 */
export function Channels() {
  const { id, name, archived } = useProject()
  const query = useQuery(channelsQuery(id))
  const { data: slack } = useQuery(slackQuery)
  const { box, onFocus } = useListFocus<HTMLUListElement>(query.data)
  if (slack === undefined || (slack.workspace === '' && !query.data?.length)) return null
  const command = `/tsumugi project ${name}`
  return (
    <Section title={words.title} lead={words.lead}>
      {!archived && (
        <>
          <p>{words.how}</p>
          <p className={own.command}>
            <code>{command}</code>
            <CopyIconButton label={words.copy} copy={() => copyText(command)} />
          </p>
        </>
      )}
      <Loaded query={query} empty={<p className={styles.quiet}>{words.none}</p>}>
        {(channels) => (
          <ul className={styles.list} aria-label={words.title} ref={box} onFocus={onFocus}>
            {channels.map((channel) => (
              <Line key={channel.id} channel={channel} />
            ))}
          </ul>
        )}
      </Loaded>
    </Section>
  )
}

function Line({ channel }: { channel: ProjectChannel }) {
  const { id } = useProject()
  const name = channel.name || channel.channel
  return (
    <li className={styles.line} data-line>
      <Hash size={18} aria-hidden />
      <div className={styles.what}>
        {name}
        <p>{words.bound(channel.bound_by?.name ?? texts.files.departed, formatDate(channel.bound_at))}</p>
      </div>
      <EndButton
        label={words.unbind}
        of={words.of(name)}
        words={words.unbinding}
        end={async () => {
          await call('unbindProjectChannel', { project_id: id, channel_id: channel.id })
          await refreshProjects()
        }}
      >
        <p>{words.unbinding.body(name)}</p>
      </EndButton>
    </li>
  )
}
