// The JSON of the API: trees of forks, and two processes compared. Made by `npm run docs` from the schemas of the daemon
// (scripts/views.ts): do not edit. Test: test/e2e/lifecycle/compare.test.ts.
import type { Status } from '../../kernel/model/status.ts'

/** A process of a tree of forks. Only the ids and the name of a removed process are known. */
export interface LineageNodeView {
  uuid: string
  pid: number
  name: string | null
  status: Status | 'collected'
  step: number | null
  originUuid: string | null
  originStep: number | null
  createdAt: string | null
  endedAt: string | null
  /** null: unknown */
  costUsd: number | null
  exit: { code: number; reason: string } | null
  model: string | null
  /** the settings that differ from those of its origin, by their names */
  changed: string[]
  /** the beginning of its last text */
  lastText: string | null
}

/** The tree of forks of a process, oldest first, each after its origin. */
export interface LineageView {
  version: 1
  uuid: string
  processes: LineageNodeView[]
  /** true: the tree has more processes than the list */
  truncated: boolean
}

export interface CompareView {
  version: 1
  a: LineageNodeView
  b: LineageNodeView
  /** the last step that both have in common; null: none is known */
  commonStep: number | null
  /** the settings that differ, with their values as text or JSON */
  changed: { field: string; a: string | null; b: string | null }[]
}
