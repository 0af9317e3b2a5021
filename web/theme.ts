// The theme of this browser: light, dark, or that of the system. Must be applied before anything is drawn.
// Test: test/e2e/web/pages/settings.test.ts.
import { effect, signal } from '@preact/signals'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'reeve.theme'

/** `system`: as the browser asks for it */
export const theme = signal<Theme>(THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system')

/** Applies the choice, now and when it changes. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
  })
}

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  if (chosen === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, chosen)
}
