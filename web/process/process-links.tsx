// Links from a process to other pages about it: its forks, its past, its graph or its children. Test: test/e2e/web/pages/compare.test.ts.
import type { JSX } from 'preact'
import type { RowView } from '../../src/api/views/rows.ts'

export function ProcessLinks({ row: { uuid, kind } }: { readonly row: RowView }): JSX.Element {
  return (
    <>
      {kind === 'run' ? <a href={`/runs/${uuid}`}>graph</a> : null}
      {kind === 'supervisor' ? <a href={`/supervisors/${uuid}`}>children</a> : null}
      {kind === 'agent' || kind === 'command' ? <a href={`/p/${uuid}/lineage`}>forks</a> : null}
      <a href={`/night?since=24h&under=${uuid}`}>past</a>
    </>
  )
}
