// The colour of each status, the same in every table and row. Test: test/tables/cli/print/ps-columns.test.ts.
import type { Status } from '../../kernel/model/status.ts'

export type Colour = 'green' | 'cyan' | 'yellow' | 'red' | 'dim'

export const STATUS_COLOURS: Readonly<Partial<Record<Status, Colour>>> = {
  working: 'green',
  ready: 'cyan',
  starting: 'cyan',
  waiting: 'yellow',
  suspended: 'yellow',
  stopping: 'yellow',
  failed: 'red',
  interrupted: 'red',
  zombie: 'red',
  completed: 'dim',
  retired: 'dim',
  stopped: 'dim',
}
