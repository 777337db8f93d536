export { shareLoader } from './loader'
export { SharePage } from './SharePage'
