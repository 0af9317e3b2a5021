// Whether some time has gone by since a part was drawn. Test: test/e2e/web/actions.test.ts.
import { useEffect, useState } from 'preact/hooks'

/** Returns false for the first `ms` milliseconds. */
export function useAfter(ms: number): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), ms)
    return () => clearTimeout(timer)
  }, [])
  return isOver
}
