// A hook for what a component does some time after it was mounted. Test: test/e2e/web/actions.test.ts.
import { useEffect, useState } from 'preact/hooks'

/** Returns true once `ms` milliseconds have passed since the component was mounted. */
export function useHasElapsed(ms: number): boolean {
  const [hasElapsed, setElapsed] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setElapsed(true), ms)
    return () => clearTimeout(timer)
  }, [ms])
  return hasElapsed
}
