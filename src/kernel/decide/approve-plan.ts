// The approval of a plan: a process that may only read gets the permissions that the user picks, within those of its parent. Owns which
// approvals are refused. Test: test/e2e/native/plan.test.ts.
import { KernelError } from '../model/errors.ts'
import { isLiving } from '../model/status.ts'
import { fitToParent } from '../state/permissions.ts'
import { bypassableRule } from '../state/tool-rules.ts'
import type { Sender } from '../model/ids.ts'
import type { Process } from '../model/process.ts'
import type { DecisionDraft } from './draft.ts'

/**
 * Records the permissions after the user's answer to a plan. Returns the option that counts: a child gets no more than its parent has.
 * Errors: PERMISSION while the parent plans, or denies; INVALID for a policy that would let a rule be bypassed.
 */
export function withApprovedPlan(
  draft: DecisionDraft,
  { uuid, pid, spec, parentUuid }: Process,
  { option, by }: { readonly option: string; readonly by: Sender },
): string {
  if (option !== 'allow' && option !== 'ask') return option
  if (spec.driver !== 'native' || spec.permissions?.default !== 'plan') return option
  const parent = parentUuid === null ? undefined : draft.get(parentUuid)
  const living = parent && isLiving(parent) ? parent : null
  const { spec: approved } = fitToParent({ ...spec, permissions: { ...spec.permissions, default: option } }, living?.spec ?? null)
  const { permissions = { default: option } } = approved
  const { default: policy } = permissions
  if (policy === 'plan' || policy === 'deny')
    throw new KernelError(
      'PERMISSION',
      `process ${pid} gets no more permissions than its parent ${living?.pid}, which ${policy === 'plan' ? 'plans itself' : 'denies by default'}`,
      undefined,
      policy === 'plan' ? `Answer the plan of ${living?.pid} first, or deny this one.` : 'Deny the plan, with a message.',
    )
  const bypassable = bypassableRule(permissions, approved)
  if (bypassable !== null) throw new KernelError('INVALID', bypassable, undefined, 'Approve the plan with `ask`.')
  draft.emit(uuid, { type: 'process.limited', spec: approved, by })
  return policy
}
