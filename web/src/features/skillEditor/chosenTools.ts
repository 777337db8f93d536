import { tools } from './content'

/** withTool returns the chosen tools with a tool or without it, the built-in ones first. */
export function withTool(chosen: readonly string[], name: string, on: boolean): string[] {
  const rest = chosen.filter((tool) => tool !== name)
  const all = on ? [...rest, name] : rest
  const builtIn: readonly string[] = tools
  return [...builtIn.filter((tool) => all.includes(tool)), ...all.filter((tool) => !builtIn.includes(tool))]
}
