import { atom, type WritableAtom } from 'jotai'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import type { MessageRequest } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { readKept, writeKept } from '@/lib/browser/kept'
import { store } from '@/lib/ui/store'

/** Wish is the choice of the model and of thinking in a question's request; missing fields mean the default. */
export type Wish = Pick<MessageRequest, 'model_id' | 'thinking'>

type WishAtom = WritableAtom<Wish, [Wish], void>

const prefix = 'model:'
const wishes = new Map<string, WishAtom>()

/** wishAtom returns the user's last choice for a skill. It is stored in this browser. */
export function wishAtom(skillId: string): WishAtom {
  const known = wishes.get(skillId)
  if (known !== undefined) return known
  const chosen = atom(parse(readKept(prefix + skillId)))
  const made: WishAtom = atom(
    (get) => get(chosen),
    (_, set, wish: Wish) => {
      set(chosen, wish)
      writeKept(prefix + skillId, Object.keys(wish).length === 0 ? '' : JSON.stringify(wish))
    },
  )
  wishes.set(skillId, made)
  return made
}

/**
 * wishOf returns the choice for a question to a skill, limited to the available models. If thinking is optional, it is
 * set to the value on the screen.
 */
export function wishOf(skillId: string): Wish {
  const wish = store.get(wishAtom(skillId))
  const choice = queryClient.getQueryData(modelChoiceQuery(skillId).queryKey)
  if (choice === undefined) return wish
  const model = modelOf(choice, wish.model_id)
  return {
    ...(model !== undefined && model.id === wish.model_id && { model_id: model.id }),
    ...(model?.thinking === 'switch' && { thinking: wish.thinking ?? false }),
  }
}

function parse(text: string): Wish {
  try {
    const { model_id, thinking } = JSON.parse(text) as Partial<Record<keyof Wish, unknown>>
    return {
      ...(typeof model_id === 'string' && { model_id }),
      ...(typeof thinking === 'boolean' && { thinking }),
    }
  } catch {
    return {}
  }
}
