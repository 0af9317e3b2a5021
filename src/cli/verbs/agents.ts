// `reeve agents`: what can be run here, whether it could be run now, and which files cannot be used.
// Test: test/e2e/cli.test.ts.
import type { AgentView } from '../../api/views.ts'
import { table, type Column } from '../columns.ts'
import { oneLine } from '../text.ts'
import type { Call } from '../verbs.ts'

/** From so many columns on there is room for the files. */
const WIDE_COLUMNS = 140

const NPM_INSTALL = 'npm install -g '

export async function run({ out, reeve }: Call): Promise<number> {
  const { agents, errors, keys } = await reeve.agents()
  if (out.json) {
    await out.value({ agents, errors, keys })
    return 0
  }
  const ready = (cell: string, row: number): string => out.paint(agents[row]?.usable ? 'green' : 'yellow', cell)
  const columns: Column[] = [{ title: 'NAME' }, { title: 'READY', paint: ready }, { title: 'MODEL', min: 12 }, { title: 'FORK' }, { title: 'SOURCE' }, { title: 'DESCRIPTION', min: 11 }]
  const isWide = out.columns >= WIDE_COLUMNS
  if (isWide) columns.push({ title: 'FILE' })
  const rows = agents.map((agent) => cells(agent, isWide).map(oneLine))
  for (const line of table(columns, rows, out.columns, out.ellipsis)) await out.line(line)
  for (const line of notReady(agents)) await out.words(out.paintWords('yellow', oneLine(line)))
  for (const { name, unsupported } of agents) for (const what of unsupported) await out.words(out.paintWords('yellow', oneLine(`${name}: ${what}`)))
  for (const { file, line, message } of errors) await out.words(out.paintWords('red', oneLine(`${file}${line > 0 ? `:${line}` : ''}: ${message}`)))
  return 0
}

const FORKS: Readonly<Record<AgentView['forks'], string>> = { 'any step': 'any', now: 'now', asked: 'now?', no: 'no' }

function cells({ name, usable, usesModel, forks, source, description, file }: AgentView, isWide: boolean): string[] {
  return [name, usable ? 'yes' : 'no', usesModel ?? '-', FORKS[forks], source, description, ...(isWide ? [file ?? ''] : [])]
}

/** A line for each reason: where no key is set, it is the same for most of them; and one for all that can be installed. */
function notReady(agents: readonly AgentView[]): string[] {
  const names = new Map<string, string[]>()
  for (const { name, reason, install } of agents) if (reason !== null && !install) names.set(reason, [...(names.get(reason) ?? []), name])
  const lines = [...names].map(([reason, who]) => `not ready: ${who.join(', ')}: ${reason}`)
  const missing = agents.filter(({ install }) => install)
  if (missing.length === 0) return lines
  const packages = new Set(missing.map(({ install }) => install?.replace(NPM_INSTALL, '')))
  return [...lines, `not installed: ${missing.map(({ name }) => name).join(', ')}; get what you want of: ${NPM_INSTALL}${[...packages].join(' ')}`]
}
