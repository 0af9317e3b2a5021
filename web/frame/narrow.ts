// Whether the screen is as narrow as a phone. The style sheets have the same width. Test: test/e2e/web/pages.test.ts.
import { signal } from '@preact/signals'

const isPhone = matchMedia('(width < 36rem)')
export const isNarrow = signal(isPhone.matches)
isPhone.addEventListener('change', () => (isNarrow.value = isPhone.matches))
