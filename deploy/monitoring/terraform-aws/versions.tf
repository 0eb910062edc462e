# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 4.0"
    }
  }
}
