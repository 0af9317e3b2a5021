// `reeve crew show`: a crew with its tasks and members, or one task with all that was said about it.
// Tests: test/tables/cli-crew.test.ts, test/e2e/cli-crew.test.ts.
import { askLines } from '../asks.ts'
import { crewNext, crewSummary, crewWaits, memberLines, taskLines, taskPage } from '../crew-text.ts'
import { oneLine, safe } from '../text.ts'
import type { CrewView } from '../../api/crew-views.ts'
import type { Call } from '../verbs.ts'

export async function run({ args, out, reeve }: Call): Promise<number> {
  const [ref = '', id] = args.words
  if (id !== undefined) {
    const task = await reeve.crews.task(ref, id)
    if (out.json) await out.value({ task })
    else await out.line(taskPage(task, out, Date.now()).join('\n'))
    return 0
  }
  const crew = await reeve.crews.get(ref)
  if (out.json) await out.value({ crew })
  else await out.line([crewSummary(crew), ...facts(crew), '', ...taskLines(crew.tasks, out, out.columns), '', ...memberLines(crew, out, out.columns, true), ...crewNext(crew).map((line) => `\n${line}`)].join('\n'))
  return 0
}

function facts(crew: CrewView): string[] {
  const { coordinator, gate, merge, reviews, branch, base, cwd, asks, ending } = crew
  const rules = [`coordinator: ${coordinator}`, reviews ? `gate: ${gate}` : `no reviews, gate: ${gate}`, `merge: ${merge}`]
  return [
    rules.join(', '), branch === null ? `works in ${oneLine(cwd)}, without worktrees` : `branch ${oneLine(branch)} from ${base?.slice(0, 10)} of ${oneLine(cwd)}`,
    ...crewWaits(crew), ...asks.flatMap((ask) => askLines(ask).map((line) => safe(line))), ...(ending ? [safe(`${ending.outcome}: ${ending.summary}`)] : []),
  ]
}
