import { useQuery } from '@tanstack/react-query'
import { Select } from '@/components/Field'
import { modelChoiceQuery, modelOf } from '@/entities/model/models'
import type { ContentProps } from './content'
import { texts } from './texts'

const words = texts.editor

/** ModelField chooses the default model of the skill. */
export function ModelField({ content, errorOf, onChange }: ContentProps) {
  const choice = useQuery(modelChoiceQuery()).data
  const models = choice?.models ?? []
  const { model } = content
  if (models.length < 2 && model === '') return null
  const standard = choice && modelOf(choice, undefined)
  return (
    <Select
      label={words.model}
      hint={words.modelHint}
      error={errorOf('model')}
      value={model}
      onChange={(event) => onChange({ ...content, model: event.target.value })}
    >
      <option value="">{standard ? words.standardModel(standard.name) : words.noModel}</option>
      {models.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
      {choice && model !== '' && !models.some(({ id }) => id === model) && (
        <option value={model}>{words.goneModel(model)}</option>
      )}
    </Select>
  )
}
