// The JSON with which a crew is started. Types only. Test: test/e2e/crew-up.test.ts.
import type { Limits } from '../kernel/types.ts'
import type { ProcessView } from './views.ts'

type WorkerRole = 'generic' | 'implementer' | 'reviewer' | 'researcher'

/** Who does a part: absent is as the crew says. */
export interface CrewWhoBody {
  agent?: string
  model?: string
  /** of an agent that asks before it acts */
  permissions?: 'ask' | 'allow' | 'deny'
  limits?: Limits
}

export interface CrewTaskBody {
  /** absent: `task-N` */
  id?: string
  /** absent: the first line of the text */
  title?: string
  text: string
  acceptance?: string
  needs?: string[]
  /** `human`: a question for a person, whose answer is its result */
  kind?: 'work' | 'human'
  /** a researcher's task is answered, and nothing is committed */
  role?: 'generic' | 'implementer' | 'researcher'
  reviews?: boolean
}

/** POST /v1/crews. A crew of a file, with what is said besides; or one that is made of that alone. */
export interface CrewUpBody extends CrewWhoBody {
  /** a crew of `file`, or else of the nearest reeve.yaml, or else of the user; absent: the only one there */
  crew?: string
  /** the file that it stands in */
  file?: string
  /** default: the crew's own */
  name?: string
  cwd: string
  env?: Record<string, string>
  /** `engine` (no model: the default), the name of an agent, or more about it */
  coordinator?: string | CrewWhoBody
  /** how many, or how many of each role */
  workers?: number | { [R in WorkerRole]?: number }
  gate?: 'auto' | 'coordinator' | 'human'
  merge?: 'auto' | 'leave'
  reviews?: boolean
  worktrees?: boolean
  stay?: boolean
  maxAttempts?: number
  maxWorkers?: number
  /** a share of the context; null: never */
  handOver?: number | null
  /** a file, whole, or the tasks themselves */
  tasks?: string | CrewTaskBody[]
}

/** `notes`: what a person should know of how it begins. */
export interface CrewUpView { version: 1; process: ProcessView; branch: string | null; base: string | null; tasks: number; notes: string[] }
