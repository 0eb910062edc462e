# Made from src/tenure/monitoring by `tenure monitoring render`. Not edited by hand.

terraform {
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 3.40"
    }
  }
}
