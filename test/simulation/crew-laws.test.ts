// Each law of a crew's repository can fail. With one defect in the engine or in git, lives of crews break that law by its name.
// Without a defect, the same lives break no law.
import { expect, test } from 'vitest'
import { decideCrew } from '../../src/kernel/crew/decide/decide.ts'
import { Dice } from '../support/crew-world/random-faults.ts'
import { BrokenLaw, type Law } from '../support/simulated-git/laws.ts'
import { createSimulatedCrew, playSimulatedCrew } from '../support/simulated-git/simulated-crew.ts'
import { seededRandom } from '../support/random.ts'
import type { Act } from '../../src/kernel/model/crew/commands.ts'
import type { Defects } from '../support/simulated-git/simulated-repository.ts'
import type { Job } from '../../src/kernel/model/crew/facts.ts'
import type { CrewSpec } from '../../src/kernel/model/process-spec.ts'

type Decide = typeof decideCrew

/** the number of lives in which a defect must break its law */
const LIVES = 60

interface Defect {
  readonly decide?: Decide
  readonly defects?: Defects
}

/** Changes the requested jobs. */
function changingJobs(change: (job: Job) => Job): Decide {
  return (...args) => {
    const decided = decideCrew(...args)
    return { ...decided, acts: decided.acts.map((act): Act => (act.type === 'job' ? { ...act, job: change(act.job) } : act)) }
  }
}

const CHECK = { command: 'make check', timeoutMs: 1_000 }

const DEFECTS: readonly (readonly [string, Law, Defect])[] = [
  [
    'the implementer of a task approves it, as if it were the reviewer',
    'reviewed by another member',
    {
      decide: (crew, spec, command, ctx) => {
        const { by } = ctx
        const reviewedTask =
          by.type === 'member' && command.type === 'report_review_verdict'
            ? crew.tasks.find(({ state, implementer, briefed }) => state === 'in_review' && briefed && implementer === by.id)
            : undefined
        const reviewer = crew.members.find(({ id }) => id === reviewedTask?.reviewer)
        const canReview = reviewer && reviewer.turn.open !== null && reviewer.turn.phase === 'reviewing'
        return decideCrew(
          crew,
          spec,
          command,
          canReview ? { ...ctx, by: { type: 'member', id: reviewer.id, turn: reviewer.turn.open, call: null } } : ctx,
        )
      },
    },
  ],
  [
    'the commit is not compared with the approved files',
    'landed as approved',
    {
      decide: changingJobs((job) => {
        if (job.type !== 'commit') return job
        const { reviewed: _, ...others } = job
        return others
      }),
    },
  ],
  [
    'a different commit is accepted',
    'landed as approved',
    {
      defects: { result: (_, result) => (result.type === 'differs' ? { type: 'committed', commit: result.commit, dirty: false } : result) },
    },
  ],
  [
    'a failed verify counts as passed',
    'verified',
    { defects: { result: (_, result) => (result.type === 'verified' ? { ...result, ran: { ...result.ran, code: 0 } } : result) } },
  ],
  [
    'a merge counts as verified when its parts were',
    'verified',
    {
      defects: {
        result: (job, result, { world }) => {
          const tree = 'task' in job ? world.crew.tasks.find(({ id }) => id === job.task)?.check?.tree : undefined
          return result.type === 'candidate' && tree ? { ...result, tree } : result
        },
      },
    },
  ],
  [
    'a late answer opens a task again',
    'ends once',
    {
      decide: (crew, spec, command, ctx) => {
        const decided = decideCrew(crew, spec, command, ctx)
        const doneTask =
          command.type === 'job_done' && !crew.jobs.some(({ job }) => job === command.job)
            ? crew.tasks.find(({ state }) => state === 'done')
            : undefined
        return doneTask
          ? { ...decided, facts: [{ type: 'task.reopened', task: doneTask.id, comments: 'once more', by: 'system' }] }
          : decided
      },
    },
  ],
  [
    'the landing is not reported, and the commit is made again',
    'lands once',
    {
      defects: {
        job: (job, { git }) => {
          const { files, parents, subject } = job.type === 'merge' ? git.get(job.commit) : { files: {}, parents: [], subject: '' }
          return job.type === 'merge' ? { ...job, commit: git.commit(files, parents, subject) } : job
        },
        result: (job, result) => (job.type === 'land' && result.type === 'merged' ? { type: 'moved' } : result),
      },
    },
  ],
  [
    'the branch moves to a merge that was made for an older head',
    'landings stay',
    {
      defects: {
        job: (job, repository) => {
          if (job.type !== 'land') return job
          repository.changeAsUser('forward')
          return { ...job, head: repository.git.refs.get(repository.jobs.branch) ?? job.head }
        },
      },
    },
  ],
  [
    'the branch is created again at the start of the crew',
    'landings stay',
    {
      defects: {
        job: (job, repository) => {
          const { git, jobs, base, laws } = repository
          if (job.type !== 'prepare' || laws.landingCount === 0) return job
          repository.changeAsUser('delete')
          git.refs.set(jobs.branch, base)
          return job
        },
      },
    },
  ],
  [
    "a merge is made in the user's checkout",
    'user data unchanged',
    {
      defects: {
        result: (job, result, { git, user }) => {
          if (job.type === 'land' && result.type === 'merged') user.files = git.files(result.merged)
          return result
        },
      },
    },
  ],
  [
    'files are moved to the branch without a salvage',
    'nothing is lost',
    {
      defects: {
        job: (job, { jobs, git, base }) => {
          const tree = jobs.worktrees.get(job.member)
          if (tree?.state === 'there' && (job.type === 'prepare' || job.type === 'reset')) tree.replaceFiles(git.files(base))
          return job
        },
      },
    },
  ],
]

/** The first law that a life breaks; null when it breaks none. */
function firstBrokenLaw(seed: number, brokenParts: Defect): Law | null {
  const random = seededRandom(seed)
  const spec: Partial<CrewSpec> = { staff: [{ role: 'generic', count: 3 }], maxAttempts: 8, verify: CHECK }
  try {
    playSimulatedCrew(createSimulatedCrew(spec, brokenParts), new Dice(Array.from({ length: 240 }, () => Math.floor(random() * 10_000))))
    return null
  } catch (error) {
    if (error instanceof BrokenLaw) return error.law
    throw error
  }
}

test.each(DEFECTS)('if %s, a life breaks the law "%s"', (_, law, brokenParts) => {
  const found = new Set<Law>()
  for (let seed = 1; seed <= LIVES && !found.has(law); seed += 1) {
    const broken = firstBrokenLaw(seed, brokenParts)
    if (broken !== null) found.add(broken)
  }
  expect([...found]).toContain(law)
})

test(`${LIVES} lives without a defect break no law`, () => {
  expect(Array.from({ length: LIVES }, (_, index) => firstBrokenLaw(index + 1, {})).filter((law) => law !== null)).toEqual([])
})
