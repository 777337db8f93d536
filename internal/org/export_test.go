package org

import "context"

// SweepOnce exports sweep.
func (s *Service) SweepOnce(ctx context.Context) int {
	sent, _ := s.sweep(ctx)
	return sent
}
