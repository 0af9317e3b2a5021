// Resolves the reference to a process in a tool call: `self`, the id of a crew member, or a reference as users write it. The hints of its
// errors are for agents: they name tools instead of commands. Test: test/e2e/mcp/crew.test.ts.
import { coordinatorOf } from '../../kernel/crew/state/queries.ts'
import { KernelError } from '../../kernel/model/errors.ts'
import type { ToolCallContext } from './tool.ts'
import type { Process } from '../../kernel/model/process.ts'

const SELF = 'self'
const MEMBER = /^(?:worker|coordinator)(?:-\d+)?$/
const PS_HINT = 'The tool `ps` lists processes, with `ended` also those that have ended.'

/** Finds the process of a reference. Errors: those of a reference; CONFLICT for a member that is still being started. */
export async function resolveProcess(name: string, context: ToolCallContext): Promise<Process> {
  const { host, caller } = context
  if (name === SELF) {
    if (caller === null)
      throw new KernelError(
        'INVALID',
        'you are the user here, so `self` names no process',
        undefined,
        'Name a process by its PID or name; `ps` lists them.',
      )
    return caller
  }
  const crewMember = await findMember(name, context)
  if (crewMember) return crewMember
  return host.reads.resolve(name).catch(async (error: unknown) => {
    throw caller !== null && error instanceof KernelError ? await withToolHint(error, name, context) : error
  })
}

/** Finds a member of the caller's crew by its id; undefined if there is none. `coordinator` means the current coordinator. */
async function findMember(name: string, context: ToolCallContext): Promise<Process | undefined> {
  const crew = MEMBER.test(name) ? await callersCrew(context) : undefined
  const member =
    name === 'coordinator' && crew
      ? (coordinatorOf(crew) ?? crew.members.find(({ id }) => id === name))
      : crew?.members.find(({ id }) => id === name)
  if (!member) return undefined
  if (member.uuid === null) throw new KernelError('CONFLICT', `${member.id} is being started`, undefined, 'Call again in a moment.')
  return context.host.reads.get(member.uuid)
}

async function callersCrew({ host, caller }: ToolCallContext): Promise<Process['crew']> {
  const { member } = caller?.spec ?? {}
  return member && (await host.reads.find(member.crew))?.crew
}

/** Returns the error; if there is no such process, with a hint for agents. */
async function withToolHint(error: KernelError, name: string, context: ToolCallContext): Promise<KernelError> {
  if (error.code !== 'NOT_FOUND' && error.code !== 'COLLECTED') return error
  const members = MEMBER.test(name)
    ? ((await callersCrew(context))?.members.filter(({ state }) => state !== 'gone').map(({ id }) => id) ?? [])
    : []
  const hint =
    members.length > 0
      ? `In your crew there are ${members.join(', ')}. `
      : /^\d{4,}$/.test(name)
        ? `Digits alone are a PID. \`id:${name}\` names a process by its ID. `
        : ''
  return new KernelError(error.code, error.message, error.details, `${hint}${PS_HINT}`)
}
