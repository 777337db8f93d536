import { atom, type WritableAtom } from 'jotai'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import type { MessageRequest } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { readKept, writeKept } from '@/lib/browser/kept'
import { store } from '@/lib/ui/store'

/** Which model is to answer, and whether it is to think, as a question's request has it; missing: as it would. */
export type Wish = Pick<MessageRequest, 'model_id' | 'thinking'>

type WishAtom = WritableAtom<Wish, [Wish], void>

const prefix = 'model:'
const wishes = new Map<string, WishAtom>()

/** What the user chose for a skill last. It is kept in this browser. */
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
 * What a question of a skill asks for: what was chosen, as far as it is offered. Where a model can be told whether to
 * think, it is told what the screen shows.
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
