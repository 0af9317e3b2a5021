// The key `budgets` of the user's config.yaml: how much all processes together may spend per calendar day and month.
// Test: test/tables/config/config.test.ts.
import * as z from 'zod'
import { HOME_BUDGETS } from '../../kernel/model/words.ts'

const usd = z.number().positive().max(1_000_000).exactOptional()

export const budgetsRule = z.strictObject({ dailyUsd: usd, monthlyUsd: usd })

export const BUDGET_KEYS: readonly string[] = HOME_BUDGETS
