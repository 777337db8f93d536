import { Trial } from '@/features/chat/screen/Trial'
import { EditorPage } from '@/features/skillEditor/EditorPage'

/** SkillEditorRoute is the editor of a skill, with a chat for testing it. */
export function SkillEditorRoute() {
  return <EditorPage trial={(skill, start) => <Trial skill={skill} start={start} />} />
}
