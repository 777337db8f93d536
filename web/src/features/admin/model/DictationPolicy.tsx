import { useQuery } from '@tanstack/react-query'
import { guidanceQuery, saveDictation } from '@/entities/guidance/guidance'
import { PolicySection } from '../parts/PolicySection'
import { models } from '../texts'

/** Whether members may dictate in browsers that send the audio to a service. */
export function DictationPolicy() {
  return (
    <PolicySection
      query={useQuery(guidanceQuery)}
      allows={({ dictation }) => dictation.service}
      confirms="allow"
      words={models.dictation}
      onSet={saveDictation}
    />
  )
}
