// `reeve crew edit`: changes a task. Test: test/e2e/cli/crew-retry.test.ts.
import { readFileSync } from 'node:fs'
import { sendCrewCommand } from '../../actions/crew-command.ts'
import { withAbsoluteScriptPath } from '../../input/script-path.ts'
import { UsageError } from '../../errors.ts'
import { parseNewLimits } from '../../input/limit-flags.ts'
import type { CrewCommandBody } from '../../../api/views/crew.ts'
import type { VerbCall } from '../../table/verb.ts'
import { withoutUndefined } from '../../../kernel/util/without-undefined.ts'
import { TASK_ROLES } from '../../../kernel/model/crew/words.ts'

type Edit = Extract<CrewCommandBody, { type: 'edit_task' }>

export async function run(call: VerbCall): Promise<number> {
  const { args } = call
  const [ref = '', task = ''] = args.words
  const [role, needs] = [args.text('role'), args.list('needs')]
  const knownRole = TASK_ROLES.find((each) => each === role)
  if (role !== undefined && !knownRole) throw new UsageError(`--role ${role}: choose from ${TASK_ROLES.join(', ')}`)
  if (args.on('reviews') && args.on('no-reviews')) throw new UsageError('--reviews and --no-reviews exclude each other')
  const [agent, model, limits] = [args.text('agent'), args.text('model'), parseNewLimits(args)]
  if (args.on('as-role') && (agent ?? model) !== undefined) throw new UsageError('--as-role excludes --agent and --model')
  if (args.on('no-limits') && Object.keys(limits).length > 0) throw new UsageError('--no-limits excludes other limits')
  const edit: { [K in keyof Edit]: Edit[K] | undefined } = {
    type: 'edit_task',
    task,
    title: args.text('title'),
    text: readTaskText(args.text('text')),
    acceptance: args.text('acceptance'),
    role: knownRole,
    needs: needs && [...needs].filter((need) => need !== 'none'),
    reviews: args.on('reviews') ? true : args.on('no-reviews') ? false : undefined,
    limits: args.on('no-limits') || Object.keys(limits).length > 0 ? limits : undefined,
    agent: args.on('as-role') ? null : agent,
    model: args.on('as-role') ? null : model && withAbsoluteScriptPath(model),
  }
  const changes = withoutUndefined(edit) as Edit
  if (Object.keys(changes).length === 2) throw new UsageError('no change is given', '`reeve help crew edit` lists the flags.')
  return sendCrewCommand(call, ref, changes)
}

/** Reads the text of the task from a file, or from stdin (`-`). Errors: usage, if it cannot be read. */
function readTaskText(file: string | undefined): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(
      `--text ${file}: ${readErrorText(error)}`,
      '--text names a file with the text of the task; `--text -` reads it from stdin.',
    )
  }
}

function readErrorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'it is a directory' : code === 'EACCES' ? 'permission denied' : message
}
