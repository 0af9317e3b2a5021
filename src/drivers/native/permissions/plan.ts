// Planning: an agent with the policy `plan` only reads, and presents a plan. Has the tool `present_plan`, the answers to a plan, and
// the texts about planning. The kernel changes the permissions when the user approves (src/kernel/decide/asks/asks.ts).
// Test: test/e2e/native/plan.test.ts.
import { z } from 'zod'
import type { AskOption } from '../../../kernel/model/asks.ts'
import type { NativeSpec } from '../../../kernel/model/process-spec.ts'
import { ruleBypassProblem } from '../../../kernel/state/tool-rules.ts'
import type { ToolCall } from '../context/context.ts'
import { defineTool } from '../tools/tool.ts'
import type { Tool } from '../tools/tool.ts'

const PLAN_TOOL = 'present_plan'
/** The longest plan, so that its question shows all of it. */
const MAX_PLAN_CHARS = 3_500

const input = z.strictObject({
  plan: z.string().trim().min(1).max(MAX_PLAN_CHARS).describe('what you will change and run, step by step'),
})

/** The part of the system prompt about planning. */
export const PLANNING_PROMPT = `# Planning

You can only read so far. Calls that change anything are denied. Find out what the task needs, then present a plan with the tool \`${PLAN_TOOL}\`, in at most ${MAX_PLAN_CHARS} characters.
The user approves the plan, or tells you what to change. Carry it out after the approval.`

/** The reason why a call is denied before the approval, as the model reads it. */
export function planningDenial(subject: string): string {
  return `not before the user approves a plan: ${subject}. Only reads are allowed so far; present your plan with ${PLAN_TOOL}`
}

/**
 * The tool `present_plan`. Its effect is not `read`, so that no other call runs at the same time. The tool changes nothing, so it may run
 * again after a crash.
 */
const presentPlan: Tool = {
  ...defineTool({
    name: PLAN_TOOL,
    effect: 'idempotent',
    description: 'Presents your plan to the user, and waits for the answer.',
    input,
    // The call runs only after the approval, even if the approval came before a crash.
    run: () => Promise.resolve('The user approved the plan. Carry it out. Some calls may still need an answer from the user.'),
  }),
  isGranted: true,
}

/** The tool `present_plan` for an agent. Without a plan to approve, it only answers a call of an earlier incarnation. */
export function planTool({ permissions }: Pick<NativeSpec, 'permissions'>): Tool {
  return permissions?.default === 'plan' ? presentPlan : { ...presentPlan, isHidden: true }
}

/** The plan of a call; null for other calls, and for an invalid input, whose error the tool returns. */
export function planOf(call: ToolCall): string | null {
  return call.name === PLAN_TOOL ? (input.safeParse(call.input).data?.plan ?? null) : null
}

/** The answers to a plan. `allow` is left out where it would let a shell bypass a rule. */
export function planOptions({ permissions, tools, deny }: Pick<NativeSpec, 'permissions' | 'tools' | 'deny'>): readonly AskOption[] {
  const canAllow = ruleBypassProblem({ ...permissions, default: 'allow' }, { tools, deny }) === null
  return [
    { id: 'ask', name: 'Approve: ask before each change', kind: 'allow_once' },
    ...(canAllow ? [{ id: 'allow', name: 'Approve: allow all calls', kind: 'allow_always' } as const] : []),
    { id: 'deny', name: 'Deny: go on planning', kind: 'reject_once' },
  ]
}
