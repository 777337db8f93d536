import { Trial } from '@/features/chat/Trial'
import { EditorPage } from '@/features/skillEditor/EditorPage'

/** The editor of a skill, with the chat in which it is tried. */
export function SkillEditorRoute() {
  return <EditorPage trial={(skill, start) => <Trial skill={skill} start={start} />} />
}
