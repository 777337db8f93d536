package chat

import (
	"context"
	"fmt"
	"math"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// ConfirmTokens is the maximum number of input tokens of an answer about whole documents without a confirmation.
const ConfirmTokens = 100_000

// ConfirmationRequired is the code of a CostError.
const ConfirmationRequired fault.Code = "confirmation_required"

// acceptedRatio bounds the ratio of an estimate to the accepted estimate. Estimates of the same question vary: a busy
// server makes a coarser one, and stored notes expire.
const acceptedRatio = 2

// CostError is the error of a question that was not asked because its answer would take more input tokens than
// ConfirmTokens and than the question accepts. To ask it, send the same question with AcceptTokens of at least Tokens.
type CostError struct {
	error

	Tokens int // An estimate of the input tokens of all model calls.
}

// Unwrap returns the fault.
func (c *CostError) Unwrap() error { return c.error }

// checkCost returns a CostError if the answer to a question would take more than ConfirmTokens, and more than
// acceptedRatio times the accepted tokens.
func (s *Service) checkCost(ctx context.Context, req *AnswerRequest, accepted int) error {
	limit := max(ConfirmTokens, acceptedRatio*min(accepted, math.MaxInt/acceptedRatio))
	tokens, err := s.grounder.Estimate(ctx, req, limit)
	if err != nil || tokens <= limit {
		return err
	}
	return &CostError{
		error:  fault.Errorf(ConfirmationRequired, "回答の作成に%sを使用します。開始するには、確認が必要です。", FormatTokens(tokens)),
		Tokens: tokens,
	}
}

// FormatTokens formats a rounded number of tokens for people, such as "約18万トークン".
func FormatTokens(tokens int) string {
	const unit = 10_000
	return fmt.Sprintf("約%d万トークン", max((tokens+unit/2)/unit, 1))
}
