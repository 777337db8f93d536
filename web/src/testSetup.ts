import { configure } from '@testing-library/react'

// A busy machine must not fail a test that waits for what is loaded when it is needed.
configure({ asyncUtilTimeout: 10_000 })
