import { configure } from '@testing-library/react'

// Tests that wait for lazily loaded chunks must not fail on a busy machine.
configure({ asyncUtilTimeout: 10_000 })
