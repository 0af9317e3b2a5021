// The mark of a process in a tree of forks; a removed process has the word `removed` instead. The row has the newest status, but old
// processes have no row. Test: test/e2e/web/pages/compare.test.ts.
import type { JSX } from 'preact'
import type { LineageNodeView } from '../../src/api/views/lineage.ts'
import { markNameOf, markOf } from '../../src/faces/marks.ts'
import { rowSignal } from '../rows.ts'
import { MarkIcon } from '../parts/icons.tsx'

export function NodeMark({ node: { uuid, status } }: { readonly node: LineageNodeView }): JSX.Element {
  const row = rowSignal(uuid).value
  if (status === 'collected') return <span class="quiet">removed</span>
  const marked = row ?? { status, liveness: null, asks: 0 }
  const mark = markOf(marked)
  return (
    <span class={`status-word ${mark.tone}`} data-status={marked.status}>
      <MarkIcon name={markNameOf(marked)} /> {mark.word}
    </span>
  )
}
