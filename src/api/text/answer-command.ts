// Returns the command lines that answer a question of a process, for notices, notes and errors. In a command, the question of a crew is
// named by its task. Pure. Test: test/tables/cli/print/blocked.test.ts, test/tables/daemon/notify/notices.test.ts.
import { shellWord } from './shell-quote.ts'

/** A process with questions. */
export interface Asker {
  readonly pid: number
  readonly name: string | null
  readonly isCrew: boolean
  readonly asks: readonly Question[]
}

interface Question {
  readonly id: string
  readonly options: readonly unknown[]
}

/** Returns the task that a question of a crew is about: `lexer` for `lexer.2`, the second question about it. */
export function taskOfQuestion(id: string): string {
  return id.replace(/\.\d+$/, '')
}

/** Returns how a command names a crew: by its name, or by its PID if the name would need quotes. */
export function crewCommandName({ pid, name }: Pick<Asker, 'pid' | 'name'>): string {
  return name !== null && shellWord(name) === name ? name : String(pid)
}

/** Whether a question of a crew is about a change. Otherwise it is a task for the user. */
export function isChangeQuestion({ isCrew }: Pick<Asker, 'isCrew'>, { options }: Question): boolean {
  return isCrew && options.length > 0
}

/** Returns the commands that approve and deny a change, or the command that answers any other question. */
export function answerCommands(asker: Asker, ask: Question): readonly string[] {
  const { asks, isCrew, pid } = asker
  const [ref, task] = [isCrew ? crewCommandName(asker) : String(pid), shellWord(taskOfQuestion(ask.id))]
  if (isChangeQuestion(asker, ask)) return [`reeve crew approve ${ref} ${task}`, `reeve crew deny ${ref} ${task} TEXT`]
  const askFlag = asks.length < 2 ? '' : `--ask ${isCrew ? task : asks.findIndex(({ id }) => id === ask.id) + 1} `
  return [`reeve answer ${askFlag}${ref} ${ask.options.length > 0 ? 'NUMBER' : 'TEXT'}`]
}
