// `reeve lineage`: shows related forks as a tree. Test: test/e2e/cli/resume.test.ts.
import type { LineageNodeView } from '../../api/views/lineage.ts'
import { formatTable } from '../print/format-table.ts'
import { shortId } from '../../faces/format.ts'
import { oneLine } from '../print/text.ts'
import { treeBranches } from '../print/tree.ts'
import { resolveForRead } from '../input/which-process.ts'
import type { VerbCall } from '../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const tree = await resolveForRead(args.words[0] ?? '', out, (ref) => reeve.lineage(ref))
  if (out.json) {
    const { version: _, ...rest } = tree
    await out.value(rest)
    return 0
  }
  const rows = treeBranches(toTreeRows(tree.processes), out.ascii)
  const cells = rows.map(({ view: { node }, branch }) => [
    branch + shortId(node.uuid),
    String(node.pid),
    node.name === null ? '-' : oneLine(node.name),
    node.status,
    node.step === null ? '-' : String(node.step),
    originText(node),
    node.uuid === tree.uuid ? '<' : '',
  ])
  await out.line(
    formatTable(
      [
        { title: 'ID' },
        { title: 'PID', side: 'right' },
        { title: 'NAME', min: 8 },
        { title: 'STATUS' },
        { title: 'STEP', side: 'right' },
        { title: 'ORIGIN' },
        { title: '' },
      ],
      cells,
      out.columns,
      out.ellipsis,
    ).join('\n'),
  )
  if (tree.truncated) await out.message('the tree is truncated')
  return 0
}

function originText({ originUuid, originStep, changed }: LineageNodeView): string {
  if (originUuid === null) return ''
  const differences = changed.length === 0 ? '' : `, with another ${changed.join(', ')}`
  return `(forked from ${shortId(originUuid)}${originStep === null ? '' : ` after step ${originStep}`}${differences})`
}

/** Numbers the processes, because the tree is built from numbers: each process gets its own number and that of its origin. */
function toTreeRows(nodes: readonly LineageNodeView[]): { readonly pid: number; readonly ppid: number; readonly node: LineageNodeView }[] {
  const numbers = new Map(nodes.map(({ uuid }, index) => [uuid, index + 1]))
  return nodes.map((node, index) => ({ pid: index + 1, ppid: numbers.get(node.originUuid ?? '') ?? 0, node }))
}
