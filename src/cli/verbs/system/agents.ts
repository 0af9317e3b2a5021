// `reeve agents`: lists the available agents, whether each can run now, and invalid files. Test: test/e2e/cli/cli.test.ts.
import type { AgentView } from '../../../api/views/agents.ts'
import { formatTable, type Column } from '../../print/format-table.ts'
import { oneLine } from '../../print/text.ts'
import type { VerbCall } from '../../table/verb.ts'

/** the least width of the output at which the table has a column with files */
const WIDE_COLUMNS = 140

const NPM_INSTALL = 'npm install -g '

export async function run({ out, reeve }: VerbCall): Promise<number> {
  const { agents, errors, keys } = await reeve.agents()
  if (out.json) {
    await out.value({ agents, errors, keys })
    return 0
  }
  const ready = (cell: string): string => out.paint(cell === 'yes' ? 'green' : 'yellow', cell)
  const columns: Column[] = [
    { title: 'NAME' },
    { title: 'READY', paint: ready },
    { title: 'MODEL', min: 12 },
    { title: 'FORK' },
    { title: 'SOURCE' },
    { title: 'DESCRIPTION', min: 11 },
  ]
  const isWide = out.columns >= WIDE_COLUMNS && agents.some(({ file }) => file !== null)
  if (isWide) columns.push({ title: 'FILE' })
  const rows = agents.map((agent) => cells(agent, isWide).map(oneLine))
  for (const line of formatTable(columns, rows, out.columns, out.ellipsis)) await out.line(line)
  for (const line of [...notReadyLines(agents), ...uncheckedLoginLines(agents), ...noMessageLines(agents)])
    await out.message(out.paintMessage('yellow', oneLine(line)))
  for (const { name, unsupported } of agents)
    for (const what of unsupported) await out.message(out.paintMessage('yellow', oneLine(`${name}: ${what}`)))
  for (const { file, line, message } of errors)
    await out.message(out.paintMessage('red', oneLine(`${file}${line > 0 ? `:${line}` : ''}: ${message}`)))
  return 0
}

const FORKS: Readonly<Record<AgentView['forks'], string>> = {
  'any step': 'any step',
  now: 'latest only',
  asked: 'known at start',
  no: 'no',
}

function cells({ name, usable, login, usesModel, forks, source, description, file }: AgentView, isWide: boolean): string[] {
  return [
    name,
    !usable ? 'no' : login?.state === 'not checked' ? 'not checked' : 'yes',
    usesModel ?? '-',
    FORKS[forks],
    source,
    description,
    ...(isWide ? [file ?? ''] : []),
  ]
}

/** Returns a line per reason, as a missing key often concerns many agents, and a line about all agents whose program is missing. */
function notReadyLines(agents: readonly AgentView[]): string[] {
  const names = new Map<string, string[]>()
  for (const { name, reason, install } of agents) if (reason !== null && !install) names.set(reason, [...(names.get(reason) ?? []), name])
  const lines = [...names].map(([reason, who]) => `not ready: ${who.join(', ')}: ${reason}`)
  const missing = agents.filter(({ install }) => install)
  if (missing.length === 0) return lines
  const packages = new Set(missing.map(({ install }) => install?.replace(NPM_INSTALL, '')))
  return [
    ...lines,
    `not installed: ${missing.map(({ name }) => name).join(', ')}; install those you need: ${NPM_INSTALL}${[...packages].join(' ')}`,
  ]
}

/** Returns the line about agents whose login is unknown. */
function uncheckedLoginLines(agents: readonly AgentView[]): string[] {
  const loginTexts = agents.flatMap(({ name, usable, login }) =>
    usable && login?.state === 'not checked' ? [`${name}${loginCommand(login)}`] : [],
  )
  return loginTexts.length === 0 ? [] : [`the login is not checked: ${loginTexts.join(', ')}`]
}

/** Returns the line about agents that take no messages while they run. */
function noMessageLines(agents: readonly AgentView[]): string[] {
  const names = agents.flatMap(({ name, converses }) => (converses ? [] : [name]))
  return names.length === 0 ? [] : [`takes no messages while it runs, and cannot be a crew member: ${names.join(', ')}`]
}

function loginCommand({ command, key }: NonNullable<AgentView['login']>): string {
  const logins = [...(command === null ? [] : [`\`${command}\``]), ...(key === null ? [] : [key])]
  return logins.length === 0 ? '' : ` (${logins.join(' or ')})`
}
