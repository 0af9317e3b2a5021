// `reeve lineage`: a family of forks as a tree. Test: test/e2e/cli-resume.test.ts.
import type { LineageNodeView } from '../../api/resume-views.ts'
import { table } from '../columns.ts'
import { shortId } from '../format.ts'
import { oneLine } from '../text.ts'
import { branches } from '../tree.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const family = await reeve.lineage(args.words[0] ?? '')
  if (out.json) {
    const { version: _, ...rest } = family
    await out.value(rest)
    return 0
  }
  const rows = branches(inTree(family.processes), out.ascii)
  const cells = rows.map(({ view: { node }, branch }) => [
    branch + shortId(node.uuid), String(node.pid), node.name === null ? '-' : oneLine(node.name), node.status, node.step === null ? '-' : String(node.step),
    origin(node), node.uuid === family.uuid ? '<' : '',
  ])
  await out.line(table([{ title: 'ID' }, { title: 'PID', side: 'right' }, { title: 'NAME', min: 8 }, { title: 'STATUS' }, { title: 'STEP', side: 'right' }, { title: 'ORIGIN' }, { title: '' }], cells, out.columns, out.ellipsis).join('\n'))
  if (family.truncated) await out.words('the family is larger than what is shown')
  return 0
}

function origin({ originUuid, originStep }: LineageNodeView): string {
  if (originUuid === null) return ''
  return `(forked from ${shortId(originUuid)}${originStep === null ? '' : ` after step ${originStep}`})`
}

/** The tree is drawn of numbers: each has its own, and that of what it was forked from. */
function inTree(nodes: readonly LineageNodeView[]): { readonly pid: number; readonly ppid: number; readonly node: LineageNodeView }[] {
  const numbers = new Map(nodes.map(({ uuid }, index) => [uuid, index + 1]))
  return nodes.map((node, index) => ({ pid: index + 1, ppid: numbers.get(node.originUuid ?? '') ?? 0, node }))
}
