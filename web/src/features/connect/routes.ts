export { DevicePage } from './DevicePage'
export { GrantPage } from './GrantPage'
