import { describe, expect, it } from 'vitest'
import { partialToolInputs, toolInputs } from './toolInputs'

const whole = '{"to":"甲, \\"乙\\"","list":[1,{"a":"}"}],"n":2}'

describe('partialToolInputs', () => {
  it('has the names and values so far, for every beginning of the arguments', () => {
    const inputs = toolInputs(whole)
    for (let length = 0; length <= whole.length; length++) {
      const partial = partialToolInputs(whole.slice(0, length))
      partial.forEach(([name, value], i) => {
        expect(name).toBe(inputs[i]?.[0])
        if (i < partial.length - 1) expect(value).toBe(inputs[i]?.[1])
      })
    }
    expect(partialToolInputs(whole)).toEqual(inputs)
  })

  it('has the beginning of the last value', () => {
    expect(partialToolInputs('{"to":"甲","text":"こんに')).toEqual([
      ['to', '甲'],
      ['text', 'こんに'],
    ])
    expect(partialToolInputs('{"to":"甲","te')).toEqual([['to', '甲']])
    expect(partialToolInputs('{"to"')).toEqual([])
    expect(partialToolInputs('')).toEqual([])
  })

  it('has a text that is no object as it is', () => {
    expect(partialToolInputs('甲, 乙')).toEqual([['', '甲, 乙']])
  })
})
