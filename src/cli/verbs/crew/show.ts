// `reeve crew show`: shows a crew with its tasks and members, or a task with its history. Test: test/e2e/cli/crew.test.ts.
import { questionLines } from '../../input/questions.ts'
import { resolveCrew } from '../../input/which-crew.ts'
import { crewResultLines, crewSummary, crewWaitLines, memberLines, taskLines, taskPage } from '../../print/crew.ts'
import { taskDiffLines } from '../../actions/task-diff.ts'
import { oneLine, stripControls } from '../../print/text.ts'
import { resolveForRead } from '../../input/which-process.ts'
import type { CrewView } from '../../../api/views/crew.ts'
import type { VerbCall } from '../../table/verb.ts'

export async function run({ args, out, reeve }: VerbCall): Promise<number> {
  const [ref = '', id] = args.words
  if (id !== undefined) {
    const { task, change } = await resolveForRead(ref, out, async (resolvedRef) => ({
      task: await reeve.crews.task(resolvedRef, id),
      change: out.json ? [] : await taskDiffLines(reeve, { uuid: resolvedRef, ref, task: id }, { out, isWhole: false }),
    }))
    if (out.json) await out.value({ task })
    else await out.line(taskPage(task, out, Date.now(), change).join('\n'))
    return 0
  }
  const crew = await resolveCrew(reeve, ref, out)
  if (out.json) await out.value({ crew })
  else
    await out.line(
      [
        crewSummary(crew),
        ...settingsLines(crew),
        '',
        ...taskLines(crew.tasks, out, out.columns),
        '',
        ...memberLines(crew, out, out.columns, true),
        ...crewResultLines(crew).map((line) => `\n${line}`),
      ].join('\n'),
    )
  return 0
}

function settingsLines(crew: CrewView): string[] {
  const { coordinator, gate, merge, reviews, branch, base, cwd, asks, ending } = crew
  const rules = [`coordinator: ${coordinator}`, reviews ? `gate: ${gate}` : `no reviews, gate: ${gate}`, `merge: ${merge}`]
  return [
    rules.join(', '),
    branch === null
      ? `works in ${oneLine(cwd)}, without worktrees`
      : `branch ${oneLine(branch)} from ${base?.slice(0, 10)} of ${oneLine(cwd)}`,
    ...crewWaitLines(crew),
    ...asks.flatMap((ask) => questionLines(ask).map((line) => stripControls(line))),
    ...(ending ? [stripControls(`${ending.outcome}: ${ending.summary}`)] : []),
  ]
}
